"""Acts of those who argue: attack, defend, concede ..., by the closed lists of discourse that tell them apart.

What is claimed shows in any words; what is done with a claim shows in how a turn opens: whose claim it takes up (ours
        ,
yours), and whether it finds fault with it, holds it, or gives it up. Nothing here knows what is argued about.
"""

from __future__ import annotations

from stitch.text.words import whole_words

MIN_ARGUED_CHARS = 100
"""Shorter turns react rather than argue; forms and plain cues name what they do."""

MIN_LONG_CHARS = 400
"""From here on a turn that opens with somebody's claim does something with it."""
_OPENING_CHARS = 280
_READ_CHARS = 1_500
_OPENS, _TAKES_UP, _FOLLOWS, _ENOUGH = 4, 3, 1, 3

_CLAIM = (
    r"(?:claims?|contentions?|assertions?|reasoning|premises?|thesis|objections?|evidence|excerpt"
    r"|(?:your|their|this|that|opposing|opponent's) (?:arguments?|case|views?|positions?|reasons?|points?"
    r"|examples?)"
    r"|(?:the )?(?:arguments?|case) (?:that|for|against|is that)|(?:the )?other (?:side|case)|you (?:say"
    r"|claim|argue|insist)"
    r"|(?:arguments?|reasons?|points?|what) (?:that )?(?:you|they) \w+(?: \w+)?|we (?:were|are) told)"
)
_FAULT = (
    r"(?:overstates?|exaggerates?|ignores?|overlooks?|neglects?|gloss(?:es)? over|fails? to|miss(?:es)? |confuses?"
    r"|mistakes?|misreads?|misrepresents?|contradicts?|undercuts?|undermines?|(?:paints|rests on"
    r"|takes) an? (?:\S+ )?"
    r"(?:one|narrow|weak|false|shaky)|assumes?|(?:does|do) ?(?:not|n't) (?:hold|follow|justify|prove|show"
    r"|survive|stand"
    r"|support)|cannot justify|comes? apart|falls? (?:apart|short|flat)|collapses?|is (?:flawed|weak|circular"
    r"|false|wrong"
    r"|misleading|a weak|unfounded)|shaky)"
)
_OUR = (
    r"(?:our|my)(?: own)?(?: \w+| of our)?"
    r" (?:claims?|contentions?|arguments?|case|points?|reasons?|positions?|theses|thesis)"
)
_ATTACK_ON_US = r"(?:criticisms?|objections?|critiques?|rebuttals?|attacks?|counterarguments?)"

_ACTS = {
    "sum up": whole_words(
        r"""in (?:sum|summary|conclusion|closing)|to (?:sum up|summarize|conclude)|let me (?:sum up|close|conclude)
        |(?:our|my|this|the) (?:whole )?case (?:as a whole|argues|comes down to)|what remains|at the end of
        |(?:core|main|key) (?:reasons|arguments) (?:we|i|why|for)"""
    ),
    "concede": whole_words(
        r"""(?:i|we) (?:now |must |have to |do |freely |will |can )*(?:concede|grant|admit|withdraw|retract
        |take back
        |give (?:it |this |that )?up|yield|stand corrected|abandon|drop)|(?<!for )granted(?=,)|point taken
        |fair (?:point|enough)
        |(?:i|we) (?:was|were) (?:wrong|mistaken)|(?:have|has) (?:convinced|persuaded) (?:me|us)
        |(?:you|they) (?:are|were) right (?:about|that|on|to)|(?:i|we) (?:can |will |do )?no longer (?:\w+)"""
    ),
    "defend": whole_words(
        rf"""(?:still|nevertheless|nonetheless) (?:stands?|holds?)|stands? because|(?:i|we) (?:still )?stand by
        |(?:i|we) still (?:hold|maintain|believe|insist)|in (?:its |our |my )?defen[cs]e|on the contrary
        |(?:remains|is still) (?:sound|valid|intact|true|standing)|(?:was|were|been) (?:misread|misunderstood
        |misrepresented|misstated|said against)|(?:deserves?|calls? for) an answer|leaves? {_OUR}
        |{_ATTACK_ON_US} (?:to this |of this |against this )?(?:\w+ )?(?:miss(?:es)?|fails?|leaves?|proves?|ignores?
        |do(?:es)? not|rests?|overlooks?|against us|falls?)"""
    ),
    "attack": whole_words(
        rf"""i (?:strongly |respectfully |must |have to )*(?:disagree|object)|(?:i|we) (?:cannot|can't|do not
        |don't) accept|(?:i|we) (?:dispute|reject|contest|challenge)
        |(?:my|our) (?:objections?|doubts?|criticism)|beg to differ|weak (?:spot|point|foundation|link)s?
        |{_CLAIM}[^.]{{0,80}}? {_FAULT}|nothing in .{{1,60}} follows
        |(?:that|this|it) (?:simply )?(?:ignores|overlooks|overstates|exaggerates|misreads|confuses)"""
    ),
    "give background": whole_words(
        r"""(?:some|broad|general|more|useful|a little|the|brief) (?:\w+ )?(?:background|context) (?:on|that|to
        |first|for|about
        |of|is|helps)|(?:by way of|for) (?:background|context)|(?:wider|bigger|broader) picture|(?:to )?step back
        |(?:look|glance|word) (?:at|about|on) (?:the|its) history|without taking sides|not in dispute
        |(?:none|nothing) of .{1,30} in dispute"""
    ),
    "support": whole_words(
        r"""in support of (?:this|that|the|what)|(?:i|we) (?:fully |strongly )?(?:second|support
        |endorse) (?:this|that|what|your|the)
        |evidence (?:shows|supports|confirms|bears)|(?:supports?|bears? out|backs? up|confirms?
        |strengthens?) (?:this|that|our|your|the)
        (?:\w+ )?(?:claim|contention|argument|case|point|view)|(?:best|strongest|further) (?:support|evidence|proof)
        |lends? (?:weight|support)"""
    ),
    "argue": whole_words(
        rf"""(?:{_OUR}|this contention) (?:is|rests|begins|holds|stands|matters)|contention:|(?:i|we) (?:argue
        |contend|submit)
        |(?:i|we) (?:will|shall|want to|would like to) (?:argue|show|demonstrate|make the case)|(?:i
        |we) propose this
        |here(?:'s| is) why (?:that|this|it) matters|(?:point|argument|case|contention) (?:that )?(?:i
        |we) (?:want|wish|would like) to
        |that (?:contention|claim) (?:is|matters)|(?:i|we) (?:do not )?ask (?:you|for)"""
    ),
    "question": whole_words(
        r"""why (?:do|did|would|should) (?:you|they|anyone|we)|how (?:do|can|would) (?:you|they) (?:know
        |explain|justify|square|account)
        |what (?:evidence|proof|grounds?|makes you)|on what (?:basis|grounds|evidence)
        |are (?:you|they) (?:saying|suggesting|claiming|arguing)"""
    ),
}
"""The acts, by how they are told; of those equally likely the first."""
_TAKEN_UP = r"(?:claims?|contentions?|arguments?|points?|reasons?|objections?|what)"
_SAID = r"(?:put forward|raised?|gave|made|claim(?:ed)?|argued?|assert(?:ed)?|offered|brought up)"
_SIDES = {
    "defend": whole_words(rf"{_OUR}|{_TAKEN_UP} (?:that )?(?:we|i) (?:have )?{_SAID}"),
    "attack": whole_words(
        rf"""your (?:\w+ )?(?:claims?|contentions?|arguments?|theses|thesis)|{_TAKEN_UP} (?:that )?(?:you
        |they) (?:have )?{_SAID}
        |(?:of|from|by) (?:the )?(?:other side|opponents?|our opponents?|my opponents?|opposition)"""
    ),
}
"""Whose claim is taken up: of a long turn that opens so, what is done with it unless it says otherwise."""

ACTS = tuple(_ACTS)


def argued(text: str) -> str | None:
    """The act of a turn that argues, from its folded text; None of what does not argue, and of short turns."""
    if len(text) < MIN_ARGUED_CHARS:
        return None
    opening, rest = text[:_OPENING_CHARS], text[_OPENING_CHARS:_READ_CHARS]
    weights = {}
    for act, pattern in _ACTS.items():
        opens = pattern.search(opening)
        takes_up = act in _SIDES and _SIDES[act].search(opening)
        if not opens and not takes_up:
            continue  # what follows is not enough by itself
        weight = (_OPENS if opens else 0) + _FOLLOWS * min(2, len(pattern.findall(rest)))
        if takes_up:
            weight += _FOLLOWS if len(text) < MIN_LONG_CHARS else _TAKES_UP
        weights[act] = weight
    best = max(weights, key=lambda act: weights[act], default=None)
    return best if best is not None and weights[best] >= _ENOUGH else None
