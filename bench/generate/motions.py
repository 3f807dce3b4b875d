"""Motions to debate and themes to debate them by: what both sides claim, why, and what could be measured."""

from __future__ import annotations

from typing import NamedTuple


class Motion(NamedTuple):
    """A motion with the words that sentences about it need."""

    text: str
    policy: str
    """What is proposed, as the subject of a sentence."""
    place: str
    people: str

    def fill(self, template: str) -> str:
        """The template with the motion's words in it."""
        filled = template.format(policy=self.policy, place=self.place, people=self.people)
        return filled[0].upper() + filled[1:]


class Theme(NamedTuple):
    """One aspect under which a motion can be judged."""

    name: str
    claims: dict[str, str]
    """By side: the contention."""
    reasons: dict[str, tuple[str, ...]]
    """By side: sentences that argue for its claim."""
    measures: tuple[str, ...]


MOTIONS = (
    Motion(
        "The coastal league should make ferry travel free for its residents.",
        "free ferry travel",
        "the coastal league",
        "island households",
    ),
    Motion(
        "The upland provinces should replace their property taxes with one levy on land.",
        "a single levy on land",
        "the upland provinces",
        "smallholders",
    ),
    Motion(
        "The river cities should close their inner streets to private cars.",
        "the closing of inner streets to cars",
        "the river cities",
        "people who live downtown",
    ),
    Motion(
        "The school board of the plains should begin all lessons at ten o'clock.",
        "a later start of lessons",
        "the plains",
        "families with school children",
    ),
    Motion(
        "The mining states should pay every citizen a yearly share of their royalties.",
        "a yearly royalty share",
        "the mining states",
        "working families",
    ),
    Motion(
        "The harbor states should end all flights between eleven at night and six in the morning.",
        "an end to night flights",
        "the harbor states",
        "people near the airports",
    ),
    Motion(
        "The valley counties should let one public company run all buses and trains.",
        "one public transport company",
        "the valley counties",
        "daily commuters",
    ),
    Motion(
        "The lake republic should turn every tenth field back into wetland.",
        "the return of fields to wetland",
        "the lake republic",
        "farming villages",
    ),
)

THEMES = (
    Theme(
        "household budgets",
        {
            "pro": "{policy} would relieve household budgets where they are tightest.",
            "con": "{policy} would move hidden costs onto households that cannot plan for them.",
        },
        {
            "pro": (
                "For {people}, the bills that cannot be put off are the ones that decide how a month ends.",
                "A predictable saving is worth more than its sum, because it can be planned with.",
                "Money that is not spent on the unavoidable is spent close to home, and soon.",
                "The relief reaches those first who have no savings to fall back on.",
                "What looks small in a budget table is a winter coat or a dentist's visit in a kitchen.",
            ),
            "con": (
                "Nothing of this kind is free; the price only changes the envelope it arrives in.",
                "Fees, levies and fares elsewhere have to rise, and {people} pay those as well.",
                "A cost that comes late and in pieces is the hardest one to plan for.",
                "Families that already use little would pay for those who use much.",
                "Once a household has arranged itself around a benefit, losing it hurts more than never having had it.",
            ),
        },
        (
            "household spending on essentials",
            "monthly arrears",
            "savings of low earners",
            "the share of income spent on fees",
        ),
    ),
    Theme(
        "local employment",
        {
            "pro": "{policy} would open up work that people now cannot reach or keep.",
            "con": "{policy} would cost jobs in trades that have nowhere else to go.",
        },
        {
            "pro": (
                "Work exists at one end of {place} and workers at the other; what is missing is the bridge.",
                "Employers name the same three obstacles year after year, and this removes one of them.",
                "A job that can be reached on bad days too is a job that is kept.",
                "The first to gain are people in part-time work who would gladly take more hours.",
                "Small firms hire more readily when they can count on their people to arrive.",
            ),
            "con": (
                "The trades that would shrink are exactly those in which older workers have settled.",
                "Retraining sounds well in a speech, and seldom reaches a man of fifty-five.",
                "For each post that appears in an office, a workshop in {place} may close its doors.",
                "Suppliers are forgotten in such sums, although they employ as many people again.",
                "A year of transition is short for a ministry and very long for a payroll.",
            ),
        },
        (
            "local employment",
            "job vacancies filled within a month",
            "hours worked by part-time staff",
            "the number of small firms",
        ),
    ),
    Theme(
        "public health",
        {
            "pro": "{policy} would make people measurably healthier.",
            "con": "{policy} would create new strains on health that its friends leave out.",
        },
        {
            "pro": (
                "Sleep, air and movement are the cheapest medicines there are, and all three are touched here.",
                "Doctors in {place} see the damage long before it shows in any statistics.",
                "Prevention has no lobby, which is a reason to make it a rule.",
                "What is gained is spread over many people, so each notices little and the clinics notice much.",
                "Children profit first, and for longest.",
            ),
            "con": (
                "A burden that is moved to another hour or another street is still a burden.",
                "Clinics would have to reorganize their shifts, and they are short of staff already.",
                "Stress from uncertainty is a risk to health too, and nobody has put it into the sum.",
                "The people with the weakest health are the least able to adapt to new routines.",
                "Some of the promised gain rests on habits that {people} have shown no sign of changing.",
            ),
        },
        ("days of sick leave", "visits to emergency rooms", "reported hours of sleep", "cases of chronic bronchitis"),
    ),
    Theme(
        "fairness",
        {
            "pro": "{policy} would treat people alike who are now treated differently for no good reason.",
            "con": "{policy} would be paid for by people who never see its benefits.",
        },
        {
            "pro": (
                "The present rule rewards an address, not an effort.",
                "Nobody would design today's arrangement if we began with an empty page.",
                "Those who are quiet and busy lose most under the rules we have.",
                "An equal right is simpler to defend than ten exceptions.",
                "For {people}, it would be the first time that a reform begins with them.",
            ),
            "con": (
                "Equality on paper can be very unequal at the kitchen table.",
                "Whoever lives far from the center pays the same and gets a fraction.",
                "The loudest districts would again be served before the patient ones.",
                "A rule without exceptions is only fair where lives are alike, and in {place} they are not.",
                "People who planned in good faith under the old rules deserve better than a shrug.",
            ),
        },
        (
            "the gap between rich and poor districts",
            "complaints about unequal treatment",
            "access to services by distance",
            "the share of families left out",
        ),
    ),
    Theme(
        "public finances",
        {
            "pro": "{policy} would pay for itself over the years in costs that no longer arise.",
            "con": "{policy} would open a hole in public finances that nobody has offered to fill.",
        },
        {
            "pro": (
                "The ledger of {place} shows the outlays and hides the damage; we propose to count both.",
                "Collection, control and appeals swallow a good part of what the present system brings in.",
                "Costs fall in the very departments that overran their budgets in recent years.",
                "Lenders look at stability, and a plain rule is more stable than a patched one.",
                "The first two years are expensive, the ten that follow are not.",
            ),
            "con": (
                "Revenue that is given up is gone at once, whereas savings are promised for later.",
                "No treasurer in {place} has signed the figures that were read to us.",
                "When the next downturn comes, this will be the first line to be cut, half built.",
                "Past reforms of this size came in at half as much again as was planned.",
                "Reserves were set aside for floods and bridges, not for experiments.",
            ),
        },
        ("public debt per head", "administrative spending", "unplanned budget transfers", "the yield of local taxes"),
    ),
    Theme(
        "the environment",
        {
            "pro": "{policy} would lighten a load on nature that cannot be carried much longer.",
            "con": "{policy} would shift damage to nature elsewhere instead of ending it.",
        },
        {
            "pro": (
                "Rivers and air do not negotiate; they only keep accounts.",
                "The improvement can be heard and smelled within a season.",
                "Each year of delay makes the later repair dearer than the present care.",
                "Species that vanished from {place} in one generation have come back where such steps were taken.",
                "It needs no new machinery, only a decision.",
            ),
            "con": (
                "What is no longer done here will be done a few miles away, under laxer rules.",
                "The works themselves cost soil, steel and fuel before they save anything.",
                "A single measure draws attention from the three that would do more.",
                "Counted over its whole life, the balance is far closer than the posters say.",
                "Landscapes in {place} are the work of those who use them; remove the use and you lose the landscape.",
            ),
        },
        ("nitrate in ground water", "nesting pairs of marsh birds", "fine dust in the air", "night-time noise"),
    ),
    Theme(
        "administration",
        {
            "pro": "{policy} would replace a thicket of rules by one that everybody understands.",
            "con": "{policy} would ask more of the administration than it can deliver.",
        },
        {
            "pro": (
                "A clerk in {place} now keeps four registers to answer one question.",
                "Simple rules leave less room for favors and for mistakes.",
                "What can be explained in two sentences can be enforced by ordinary people.",
                "Forms that nobody has to fill in cannot be filled in wrongly.",
                "The offices themselves have been asking for it.",
            ),
            "con": (
                "Offices that could not finish the last reform are handed the next.",
                "Every simple rule grows its exceptions within a year, and then nobody has written them down.",
                "The data on which all this rests are out of date in half of {place}.",
                "New software is promised for a day on which old software has never once been switched off.",
                "Control on the ground needs people, and they are not in the plan.",
            ),
        },
        (
            "processing times",
            "rulings overturned on appeal",
            "staff turnover in public offices",
            "errors in public registers",
        ),
    ),
    Theme(
        "innovation",
        {
            "pro": "{policy} would draw in new ideas and the people who have them.",
            "con": "{policy} would freeze today's solution and keep better ones out.",
        },
        {
            "pro": (
                "Young firms settle where the rules are clear and the streets are alive.",
                "A bold step is an invitation; a cautious one is a waiting room.",
                "Universities in {place} have the knowledge and lack the place to try it.",
                "Much of what we now take for granted began as a local rule that others copied.",
                "Suppliers invent what a dependable demand asks for.",
            ),
            "con": (
                "What is written into law on Monday is outdated by Friday, and stays law.",
                "A market that is closed to newcomers stops learning.",
                "The best ideas of the last decade in {place} came from people this plan would shut out.",
                "Money tied to one answer is lost to all the others.",
                "Pilots are cheap and reversible; this is neither.",
            ),
        },
        (
            "patents per head",
            "the founding of new firms",
            "private research spending",
            "the share of graduates who stay",
        ),
    ),
    Theme(
        "small towns",
        {
            "pro": "{policy} would give small towns a reason to stay where they are.",
            "con": "{policy} would serve the center and drain the small towns around it.",
        },
        {
            "pro": (
                "A school, a shop and a way to get there: more is not needed, and less is not enough.",
                "When the last daily connection goes, the young go with it.",
                "Houses stand empty in {place} within sight of towns that cannot house their nurses.",
                "The gain is modest in every single village and large over all of them.",
                "Clubs, choirs and fire brigades live on people who are at home in the evening.",
            ),
            "con": (
                "The plan was drawn in the capital, and it looks best from there.",
                "Services follow numbers, and the numbers will be counted in the center.",
                "A baker in a small town of {place} lives on customers who would now pass by.",
                "Those who can leave are helped to leave, and the others are left with the costs.",
                "For villages, the promised second stage has never come in any earlier plan.",
            ),
        },
        (
            "population in towns under five thousand",
            "closures of village shops",
            "empty houses",
            "membership of local clubs",
        ),
    ),
    Theme(
        "trust in government",
        {
            "pro": "{policy} would show that the authorities can keep a promise.",
            "con": "{policy} would spend trust that the authorities do not have.",
        },
        {
            "pro": (
                "People forgive a mistake sooner than an endless study.",
                "Something that works and can be seen restores more confidence than any campaign.",
                "The promise was made in {place} by every party in turn; keeping it is overdue.",
                "Where authorities acted on such a matter, turnout at the next vote was higher.",
                "Trust grows from small things that happen on the day they were announced.",
            ),
            "con": (
                "Three plans with the same title lie in the archive, each announced with a brass band.",
                "Nobody asked {people} before the decision, only after it.",
                "When figures are corrected for the third time, even the correct ones are not believed.",
                "A reform that is forced through is remembered for the force.",
                "Cynicism is cheap to create and very expensive to undo.",
            ),
        },
        ("turnout at local votes", "trust in public offices", "petitions filed", "attendance at town meetings"),
    ),
)
