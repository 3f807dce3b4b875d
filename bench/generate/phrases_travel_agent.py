"""Sentences of a travel agent. They name places outright; refinement turns names into pronouns.

Fields: `name` (in comparisons `first` and `second`), `day`, `price`, `rating`, and the traits of places: `where`,
`founder`, `custom`, `scent`, `sound`, `special`, `crowd`; in comparisons with 1 or 2.

More than 400 lines because it is data, one sentence a line.
"""

from __future__ import annotations

AGENT: dict[str, tuple[str, ...]] = {
    "SET_DAY": (
        "Gladly, {day} it is.",
        "Of course, I have {day} in front of me.",
        "Very well, let us see what {day} can hold.",
        "With pleasure. I have turned the page to {day}.",
        "Good idea; {day} deserves some attention.",
        "Certainly. For {day} I suggest we go one thing at a time.",
        "That suits me. I am looking at {day} now.",
        "Fine, we continue with {day}.",
        "Right, {day}. Let me clear my desk for it.",
    ),
    "SET_DAY rest": (
        "A day feels long when it has two fixed points and short when it has six, so we can afford to leave gaps.",
        "Tell me whether you see it as a slow day or a full one, and I will hold back or press on accordingly.",
        "If the weather turns, everything on such a list can be moved by a few hours without much trouble.",
        "We can take the meals first, since they give the day its rhythm, or begin with what you most want to see.",
        "Everything we noted for the other parts of the trip stays as it is until you say otherwise.",
        "Many travelers like to keep the hour before sunset free, because the light over the river is worth it.",
        "I can offer ideas of my own, but I have learned that yours are usually the better starting point.",
        "Should you grow tired of it, we simply leave it and come back another time.",
    ),
    "SET_DAY close": (
        "What would you like to talk about first?",
        "Where shall we begin?",
        "Just name what comes to mind.",
        "I am all ears.",
        "Say the word and I will look things up.",
        "Which part of it is clearest to you already?",
    ),
    "PROPOSE open": (
        "{name} is a lovely thought.",
        "I can see why {name} appeals to you.",
        "You have a good eye; {name} is well liked around here.",
        "{name} would not have been my first idea, but it grows on me.",
        "Many of our guests come home full of {name}.",
        "{name} is one of those places that photographs do not do justice to.",
        "Ah, {name}. I was there myself in spring.",
        "That could work very well, because {name} is never quite what one expects.",
        "There is a lot to say for {name}.",
        "I am glad you bring up {name}.",
    ),
    "PROPOSE where": (
        "You find it {where}, a part of town that most visitors walk past.",
        "It lies {where}, which makes it easy to combine with a stroll.",
        "{name} stands {where}, and from the gate you see more roofs than people.",
        "Getting there is simple: it is {where}, and everybody will point you the right way.",
        "The address sounds complicated, but it is just {where}.",
        "It sits {where}, so you hear very little traffic.",
        "Look for it {where}; the sign is small and easily missed.",
        "Since it is {where}, you would arrive through some of the oldest streets we have.",
    ),
    "PROPOSE founder": (
        "It was opened by {founder}, and the family papers still hang in the entrance.",
        "The story goes that {founder} started it on borrowed money and a dare.",
        "{name} owes its existence to {founder}, whose portrait looks sternly at everybody who comes late.",
        "Two generations ago it belonged to {founder}, and people of the quarter still call it by that name.",
        "It began as the private passion of {founder}, long before anybody thought of travelers.",
        "What you see today was built up slowly by {founder}, one room at a time.",
        "They say {founder} won the building in a card game, though the records are silent about that.",
        "The first owner was {founder}, and some of the furniture has never been moved since.",
    ),
    "PROPOSE custom": (
        "There is a custom I am fond of: {custom}.",
        "Do not be surprised when {custom}; it has been that way for decades.",
        "By an old habit of {name}, {custom}.",
        "What people tell their friends about afterwards is that {custom}.",
        "One small ritual has survived every renovation, namely that {custom}.",
        "If you are there at the right moment, you will notice that {custom}.",
        "The staff insists that {custom}, and nobody remembers why.",
        "I always mention beforehand that {custom}, because it makes newcomers smile.",
    ),
    "PROPOSE senses": (
        "The air smells of {scent}, and you always hear {sound}.",
        "You notice {scent} first and only then {sound}.",
        "Between {scent} and {sound}, it is hard to stay in a hurry.",
        "Guests describe the mood with two things, {scent} and {sound}.",
        "Close your eyes for a moment and you have {sound} on one side and {scent} on the other.",
        "Something of {scent} hangs in the curtains, and in the evening you hear {sound}.",
        "If I had to put it into a bottle, it would be {scent} with a drop of {sound}.",
        "Even on full days {sound} and a trace of {scent} keep the place calm.",
    ),
    "PROPOSE special": (
        "People travel quite far for {special}.",
        "Its pride is {special}, and rightly so.",
        "What sets it apart is {special}.",
        "Ask for {special}; it is not always pointed out to newcomers.",
        "You will hear a good deal about {special}, and none of it is exaggerated.",
        "The thing to look forward to is {special}.",
        "In the town chronicle it is mentioned for {special}.",
        "I would go for {special} alone.",
    ),
    "PROPOSE crowd": (
        "It draws {crowd}, and they mix surprisingly well.",
        "Mostly you meet {crowd} there.",
        "{name} suits {crowd}, though nobody would feel out of place.",
        "On an ordinary weekday the company consists of {crowd}.",
        "The regulars are {crowd}, which sets the tone.",
        "I have sent {crowd} there, and not one of them complained.",
        "Around closing time it belongs to {crowd}.",
        "It has long been a favorite with {crowd}.",
    ),
    "PROPOSE more": (
        "The season makes a difference, for in autumn the whole street turns the color of copper.",
        "If you are sensitive to drafts, ask to be placed on the inner side.",
        "A little patience helps, as things are done by hand and in their own time.",
        "The lamps are lit one after another, and it is worth being there when it happens.",
        "I like that nothing matches and everything seems to belong.",
        "There are a few steps at the entrance, but they are low and well lit.",
        "Nobody will press you to leave, and nobody will make a fuss when you do.",
        "It closed for a winter some years ago and came back better than before.",
        "You may find the mirrors a bit much, yet they make a narrow room feel generous.",
        "Small groups are treated with more care than large ones, which is in your favor.",
        "What it lacks in polish it makes up for in warmth.",
        "The view changes with the hour, so do not take the first seat you are offered.",
        "Children are given chalk and a wall on which it is allowed.",
        "There is a bench outside where you can wait, and people often stay on it longer than planned.",
        "A handwritten notice explains the house rules, and it is funnier than it means to be.",
        "Whoever has been there twice is greeted by name the third time.",
        "The doors are low, the ceilings are high, and the clocks are all slightly wrong.",
        "I have seen people arrive cross and leave humming.",
        "It is older than it looks on one side and newer than it looks on the other.",
        "If it is full, they send somebody across the street for more chairs.",
        (
            "What I appreciate is that it does not try to be everything at once, and what it does try it has been "
            "doing for a very long time."
        ),
        (
            "You will see a row of photographs along the stairs, each of the same view, taken on the same day of "
            "each year by the same person."
        ),
        (
            "In high summer the shutters are closed at midday, and the half-light that comes through them is one of "
            "the best things about it."
        ),
        (
            "It is the sort of place where conversations start at the next table and end at yours, whether you meant "
            "to join in or not."
        ),
        "On some evenings a neighbor brings an instrument, and on others nobody does, and both have their admirers.",
        (
            "The people who work there have mostly been there for years, so they remember what you liked and quietly "
            "arrange it again."
        ),
        (
            "From the outside you would not guess how far back it goes, because the entrance is narrow and the rest "
            "opens up behind it."
        ),
        (
            "Should the day turn out hot, there is shade until late in the afternoon, and a jug of water appears "
            "without being asked for."
        ),
        (
            "They repaired the roof with tiles from three different centuries, and if you look up you can tell which "
            "is which."
        ),
        "I would not call it elegant, but it has the kind of dignity that comes from being looked after.",
        "Some travelers find it a touch too quiet in the first ten minutes and do not want to leave after an hour.",
        (
            "A painter once paid with a picture of the kitchen door, and it has hung crookedly beside the till from "
            "that day on."
        ),
        "There is a second entrance through the yard that the locals use, and you are welcome to use it as well.",
        "It is best reached on foot, not because of the distance but because of what you pass on the way.",
        (
            "If you mention that you are there for the first time, somebody will show you around before you have "
            "taken off your coat."
        ),
        (
            "The floor slopes a little toward the river, which children discover at once and adults after the second "
            "glass."
        ),
        (
            "They keep a shelf of books that earlier visitors left behind, with notes in the margins that are often "
            "better than the books."
        ),
        "In the cold months a stove is lit early, and the seats near it are given to whoever comes in from the rain.",
        (
            "The garden is not large, but it has been divided so cleverly that each corner feels as if it were the "
            "only one."
        ),
        "Everything takes a little longer than elsewhere, and that is meant as praise.",
        "One wall is covered with small drawings by guests, and adding one is considered good manners.",
        (
            "Even people who have lived in this town all their lives take their visitors there, which says more than "
            "any brochure."
        ),
        "It has survived two floods and one very bad renovation, and the marks of all three are still to be seen.",
        (
            "Late in the day the light falls through colored glass onto the landing, and people stop there without "
            "knowing why."
        ),
        "You would be looked after by people who know when to talk and when to leave you alone.",
    ),
    "PROPOSE close": (
        "If you like, I can look into the details.",
        "Shall I keep {name} on the list for you?",
        "Altogether it would fit well into what you have told me so far.",
        "It is a matter of taste, of course, but I believe it is yours.",
        "We can hold it against other ideas whenever you want.",
        "Do think about it without hurry.",
        "Would you like to hear of something similar as well?",
        "All in all {name} is a choice I could stand behind.",
    ),
    "INQUIRE price": (
        "{name} is priced at {price}.",
        "You would pay {price} at {name}.",
        "They ask {price} at {name}, all charges included.",
        "The current price of {name} is {price}.",
        "I have just checked: {name} comes to {price}.",
        "{price} is what {name} charges at present.",
        "Plan for {price} if you go to {name}.",
        "According to the latest sheet, {name} costs {price}.",
        "It will be {price} at {name}, to be exact.",
    ),
    "INQUIRE rating": (
        "{name} holds a rating of {rating} out of 5.",
        "Visitors give {name} {rating} on a scale of five.",
        "The score of {name} stands at {rating} at the moment.",
        "I see {rating} out of 5 for {name}.",
        "On average {name} gets {rating} points of five.",
        "{rating} is the rating that {name} has reached so far.",
        "Reviewers have settled at {rating} for {name}.",
        "Its latest rating puts {name} at {rating} out of 5.",
        "If one adds up all reviews, {name} comes out at {rating}.",
    ),
    "INQUIRE price rating": (
        "{name} costs {price} and is rated {rating} out of 5.",
        "You would pay {price} at {name}, and its rating is {rating}.",
        "The rating of {name} is {rating} of five, the price {price}.",
        "For {name} I have two figures: {price}, and a score of {rating}.",
        "{price} is the price of {name}, and {rating} out of 5 is what people give it.",
        "They charge {price} at {name}, where reviews average {rating}.",
        "According to my sheet, {name} stands at {price} with {rating} points of five.",
        "With {rating} out of 5 and a price of {price}, {name} is easy to describe.",
        "{name} comes to {price}; the score beside it is {rating}.",
    ),
    "INQUIRE more": (
        "Figures like these move a little with the season, but not by much.",
        "Compared with its neighbors, that is neither a bargain nor an outrage.",
        "One should add that people who complain write more often than people who are content.",
        "It includes the small things that others put on the bill separately.",
        "Returning guests tend to be milder in their judgment than first-time visitors.",
        "You would be paying for the setting as much as for anything else.",
        "It has been about the same for the last three years, which I take as a good sign.",
        "On public holidays they keep to it as well, unlike some.",
        "Whether it is worth it depends on how long you mean to linger.",
        "The most recent comments speak of kind staff and slow clocks.",
        "There is a quieter season in which the same sum goes further.",
        "I would not let the number alone decide, though it tells you something.",
        "Some find the welcome reserved at first, and then cannot stop talking about it.",
        "Payment is by card or in cash, and nobody minds which.",
        "If you book ahead they hold things for you until the evening before.",
        "A few critics mention the stairs, everybody else mentions the light.",
        (
            "I put more weight on what people write after a week than on what they write the same evening, and there "
            "the tone is friendly."
        ),
        (
            "If you travel with somebody who counts every coin, you can tell them that there are no extras added "
            "afterwards."
        ),
        (
            "To put it into perspective, a taxi across town and back would come to a fair part of the difference to "
            "the next option."
        ),
        "Among places of its kind it is somewhere in the middle, a little to the side of where one would expect it.",
        (
            "The figure is taken from this month's sheet, and as far as I know nothing is planned that would change "
            "it before you arrive."
        ),
        "What the number does not show is how gladly people go back, and in this case quite a few do.",
        "One visitor was annoyed by the weather and held it against the house, which is the risk of all such figures.",
        "I have known it to be stricter in the past, so something seems to have improved.",
        "If it helps, I can ask whether there is a reduction for two, though I would not count on it.",
        "Families often get a better arrangement, and people who stay longer than they planned do as well.",
        "You might weigh it against the time you save, since it is close to several other things you mentioned.",
        "My own impression was better than the average would suggest, but I went on a very fine day.",
    ),
    "INQUIRE close": (
        "Does that help you?",
        "Tell me if you need anything beyond that.",
        "I can look for something cheaper or grander, if you want.",
        "Shall I note it beside the entry?",
        "Let me know how it sits with you.",
        "Would you like me to hold it against other options?",
        "Take your time with it.",
        "Is there another point that worries you?",
    ),
    "COMPARE open": (
        "Gladly. {first} and {second} have less in common than one might think.",
        "Let me try. Between {first} and {second}, the mood is the biggest difference.",
        "That is a nice pair to weigh, {first} and {second}.",
        "{first} and {second} would both do, in very different ways.",
        "A fair question; {first} is the older idea and {second} the livelier one.",
        "I would say {first} is for the heart and {second} for the head.",
        "Side by side, {first} and {second} make a good argument for staying longer.",
        "If I put {first} next to {second}, three things stand out.",
        "The short answer is that {first} calms you down while {second} wakes you up.",
    ),
    "COMPARE where": (
        "{first} lies {where1}, whereas {second} is {where2}.",
        "To reach {first} you go {where1}; {second} you will find {where2}.",
        "They are in different parts of town: {first} {where1}, {second} {where2}.",
        "In location, {first} has the advantage of being {where1}, while {second} is {where2}.",
    ),
    "COMPARE special": (
        "At {first} it is all about {special1}, at {second} about {special2}.",
        "{first} is known for {special1}, and {second} for {special2}.",
        "If {special1} means more to you than {special2}, then {first} is ahead of {second}.",
        "You would remember {first} for {special1}; with {second} it would be {special2}.",
    ),
    "COMPARE crowd": (
        "The company differs too, with {crowd1} at {first} and {crowd2} at {second}.",
        "{first} attracts {crowd1}, {second} rather {crowd2}.",
        "At {second} you sit among {crowd2}, at {first} among {crowd1}.",
        "I tend to send {crowd1} to {first} and {crowd2} to {second}.",
    ),
    "COMPARE senses": (
        "{first} smells of {scent1} and {second} of {scent2}, if that is any help.",
        "Listen for {sound1} at {first} and for {sound2} at {second}.",
        "The one has {sound1} in the background, the other {sound2}.",
        "With {first} you get {scent1} and {sound1}, with {second} {scent2} and {sound2}.",
    ),
    "COMPARE custom": (
        "Each has its ritual: at {first} {custom1}, at {second} {custom2}.",
        "As for customs, {custom1} at {first}, while at {second} {custom2}.",
        "You might smile at {first}, where {custom1}, and at {second}, where {custom2}.",
        "It says something about {first} that {custom1}, just as it says something about {second} that {custom2}.",
    ),
    "COMPARE more": (
        "Neither of them is hard to reach, though the one asks for a little more walking and rewards it with a view.",
        "Both have been around for long enough to be sure of themselves, and neither has to shout.",
        "People who love the one tend to be polite about the other, and the reverse is true as well.",
        "In bad weather the difference shrinks, because both know how to make an indoor afternoon pleasant.",
        "If you expect to be tired, comfort should count for more than charm, and there they are not quite equal.",
        "The staff differ in style: in the one case cheerful and quick, in the other calm and attentive.",
        "I have had guests who tried both on the same trip and argued about it all the way to the station.",
        "What they share is a certain stubbornness about doing things the way they were always done.",
        "You could think of it as a choice between being surprised and being at ease.",
        "As for the surroundings, the one has more life around it, and the other more trees.",
        "Both take requests, but only if one asks early and with a smile.",
        "On a weekday I would hardly see a reason to prefer one, on a weekend I would.",
        "The older one has the better rooms, the newer one the better windows, if you allow me to simplify.",
        "With children the answer might be another than without them.",
        "Seen from the budget, the gap is smaller than it looks, once you add what is included.",
        "Somebody who sleeps lightly or dislikes crowds will feel the difference more than others.",
    ),
    "COMPARE close": (
        "For a quiet hour I lean to {first}, for a lively one to {second}.",
        "Forced to choose for you, I would take {second}, but by a hair.",
        "Neither would be a mistake, so trust your first impulse.",
        "You might let the weather decide between them.",
        "If walking is a concern, {first} is the gentler choice.",
        "My own preference is {first}, for reasons that are not entirely reasonable.",
        "Should you want to be surprised, go to {second}.",
        "We can also keep both in mind and decide later.",
    ),
    "DECIDE": (
        "Done, {name} is in the plan.",
        "A fine choice; I have noted {name}.",
        "Consider it arranged. {name} is yours.",
        "Very good. I will let them know at {name}.",
        "I am happy with that, {name} is a good match.",
        "So be it, {name}. I have written it in ink.",
        "Wonderful, then {name} has its place.",
        "Noted. The people of {name} will be pleased.",
        "I hoped you would say that; {name} is entered.",
    ),
    "DECIDE more": (
        "It can be changed without charge until the evening before.",
        "You will find it in the summary that I send at the end.",
        "I have added a line about how to get there on foot.",
        "They will keep something by the window if there is a choice.",
        "That also leaves you a comfortable margin before whatever comes next.",
        "I think you will enjoy the calm of it.",
        "It goes well with the rest of what we have so far.",
        "If plans shift, one message is enough and I will move things around.",
        "I have asked them to expect two, perhaps three.",
        "It is a choice that rarely disappoints.",
    ),
    "DECIDE close": (
        "What shall we look at next?",
        "Is there anything else on your mind?",
        "I will keep the page open for you.",
        "Just tell me how you want to go on.",
        "One thing less to worry about.",
        "Shall we go on in the same way?",
    ),
}

PRONOUN_PHRASES = {
    "hotel": ("the place", "the house", "that address", "the hotel"),
    "restaurant": ("the place", "that spot", "the restaurant", "the house"),
    "attraction": ("the place", "that spot", "the site"),
}
"""What stands for a name in the agent's mouth where "it" will not do."""
