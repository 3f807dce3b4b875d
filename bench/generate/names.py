"""Parts of which invented names are made: places, authors, and what is peculiar to each."""

from __future__ import annotations

NAME_BEGINNINGS = (
    "Aeth", "Alk", "Andr", "Ant", "Ari", "Bel", "Charm", "Chrys", "Del", "Dior", "Eleu", "Ery", "Eur", "Gal", "Hel",
    "Hyl", "Iph", "Kal", "Kass", "Kor", "Leuk", "Lys", "Mel", "Myr", "Nau", "Nik", "Ophe", "Orth", "Pan", "Phae",
    "Pol", "Rhod", "Sel", "Syr", "Thal", "Theo", "Tim", "Xan", "Zel", "Zeph",
)  # fmt: skip
NAME_ENDINGS = (
    "andra", "anthe", "aros", "ione", "emos", "enor", "erope", "esia", "ikles", "iphon", "isto", "itheus", "odice",
    "omeda", "oneia", "oreus", "othea", "ymene", "yrrha", "ytos",
)  # fmt: skip
MIDDLE_WORDS = (
    "Amber", "Anchor", "Arbor", "Beacon", "Bronze", "Cedar", "Cliff", "Copper", "Coral", "Cypress", "Dawn", "Dune",
    "Ember", "Fountain", "Garland", "Granite", "Grove", "Harbor", "Harvest", "Hearth", "Ivory", "Lagoon", "Lantern",
    "Laurel", "Marble", "Meadow", "Mosaic", "Myrtle", "Olive", "Orchard", "Pearl", "Pebble", "Quarry", "River",
    "Saffron", "Silver", "Spring", "Thistle", "Tidal", "Willow",
)  # fmt: skip
PLACE_NOUNS = {
    "hotel": ("Hotel", "Inn", "Lodge", "House", "Residence", "Guesthouse", "Retreat", "Suites", "Manor", "Court"),
    "restaurant": ("Kitchen", "Table", "Grill", "Tavern", "Bistro", "Dining Room", "Terrace", "Cellar", "Eatery"),
    "attraction": ("Museum", "Gardens", "Observatory", "Arcade", "Park", "Gallery", "Tower", "Baths", "Theater"),
}  # fmt: skip

NEIGHBORHOODS = (
    "in the lanes behind the fish market", "on the terrace above the rope works", "at the foot of the signal hill",
    "beside the lower lock of the canal", "across the square from the mint", "where the tram line ends",
    "in the former customs quarter", "along the quay of the salt merchants", "under the arches of the aqueduct",
    "on the quiet side of the botanical slope", "between the two old gates", "in the glassblowers' yard",
    "a little uphill from the ferry steps", "on the island in the middle of the river", "by the western ramparts",
    "opposite the workshop of the bell founders",
)  # fmt: skip
FOUNDERS = (
    "a retired lighthouse keeper", "two sisters who had traded in spices", "a clockmaker with too much time",
    "a troupe of traveling actors", "the widow of a ship's carpenter", "a botanist who never found her orchid",
    "a family of paper makers", "three students who could not pay their rent", "a cartographer from the highlands",
    "a former judge with a love of company", "the guild of the lamplighters", "a beekeeper and his nephew",
    "a singer who had lost her voice", "an engineer of the first railway", "a couple of stage magicians",
    "a captain who refused to sail again",
)  # fmt: skip
CUSTOMS = (
    "the youngest guest rings a small bronze bell at noon", "a chessboard by the door is left in mid-game",
    "everybody who leaves takes a pebble from the bowl",
    "the lights are dimmed for one minute at sunset",
    "newcomers write a line into a ledger that goes back ninety years",
    "a blue umbrella is lent to whoever forgot one",
    "the first tea of the morning is poured for the street cleaners", "the staff reads the weather aloud at four",
    "a paper boat is set on the fountain for each birthday", "one chair by the window is always kept free",
    "keys and tickets are handed over with a walnut", "a gong announces the tide twice a day",
    "visitors turn an hourglass when they arrive", "a violin is passed from hand to hand on Thursdays",
    "the cat decides which door is opened first", "a candle is lit for those who are still on the road",
)  # fmt: skip
SCENTS = (
    "warm bread", "cedar shavings", "sea salt", "roasted chestnuts", "lavender soap", "wet stone", "orange peel",
    "old paper", "beeswax", "fennel", "coffee and cardamom", "cut grass",
)  # fmt: skip
SOUNDS = (
    "a distant accordion", "halyards knocking against masts", "pigeons in the rafters", "a slow ceiling fan",
    "the bells of two churches that never agree", "the murmur of a weir", "crickets in the wall",
    "trams turning the corner", "somebody practicing scales upstairs", "rain on a tin roof", "the clatter of dominoes",
    "wind in the plane trees",
)  # fmt: skip
SPECIALTIES = {
    "hotel": (
        "box beds with shutters that fold away", "a library of returned postcards",
        "copper bathtubs under the skylights",
        "a roof deck with canvas chairs", "a breakfast room painted with migrating birds",
        "thick walls that swallow every noise",
        "a heated stone bench along the corridor", "balconies just wide enough for two", "a drying room for wet boots",
        "writing desks that look onto the water", "a courtyard with a single fig tree", "quilts sewn by the neighbors",
    ),
    "restaurant": (
        "barley soup with smoked trout", "lamb shoulder under a crust of herbs", "flatbread with sour cherries",
        "stuffed vine leaves in lemon broth", "a casserole of white beans and sage", "grilled octopus with potatoes",
        "buckwheat pancakes with goat cheese", "chicken baked in clay", "a cold soup of cucumber and mint",
        "pumpkin dumplings in brown butter", "a honey cake of nine layers", "mussels steamed in cider",
    ),
    "attraction": (
        "a staircase that hums when many people climb it", "a collection of wind instruments made of glass",
        "a map of the sky laid in the floor", "a garden where each path has its own perfume",
        "a room of mirrors turned to the hills",
        "a mechanical theater that still runs on water", "a gallery of unfinished statues",
        "a pool fed by a warm spring",
        "a clock that shows the tides of six ports", "a wall of doors saved from demolished houses",
        "a camera obscura on the top floor", "a maze of hedges cut by hand",
    ),
}  # fmt: skip
CROWDS = (
    "couples who like to read in the same room", "families with children who ask questions",
    "people traveling alone", "walkers with muddy shoes", "groups of old friends",
    "visitors who come back every year", "night owls", "those who rise before the sun", "painters and their pupils",
    "locals more than tourists", "travelers who count their coins", "guests who want to be left in peace",
)  # fmt: skip

AUTHOR_BEGINNINGS = (
    "Abern", "Ald", "Barr", "Bex", "Cald", "Corv", "Dren", "Dusk", "Elm", "Fenn", "Garr", "Hask", "Ings", "Jarv",
    "Kest", "Lind", "Marr", "Nort", "Osk", "Penn", "Quill", "Rav", "Selk", "Tarn", "Ulv", "Vant", "Wex", "Yarr",
    "Zand", "Thorn",
)  # fmt: skip
AUTHOR_ENDINGS = (
    "athy", "berg", "by", "dale", "ell", "erton", "ford", "gard", "holt", "ing", "ley", "man", "mere", "son",
    "wick",
)  # fmt: skip
