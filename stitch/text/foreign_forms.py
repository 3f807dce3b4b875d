"""What kind of move a sentence of another language than English is: the closed words of greeting, thanking, agreeing,
refusing, parting and wanting.

The words are those of the languages themselves, for any subject. Where a language is not listed, only questions are
told, by their mark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from stitch.text.forms import SentenceForm

_UNSPACED = frozenset(("ja", "zh"))

_GREETS = {
    "de": r"hallo|hi|hey|guten (?:morgen|tag|abend)|moin|servus|grüß (?:dich|gott)",
    "es": r"hola|buen(?:os días|as tardes|as noches|as|\s?día)",
    "fr": "bonjour|bonsoir|salut|coucou",
    "it": "ciao|salve|buon ?giorno|buona ?sera",
    "ja": "こんにちは|こんばんは|おはよう(?:ございます)?|はじめまして",
    "nl": "hallo|hoi|hey|hi|goede ?(?:morgen|middag|navond)",
    "pl": "cześć|hej|dzień dobry|dobry wieczór|witam|siema",
    "pt": "olá|oi|bom dia|boa tarde|boa noite",
    "ru": "привет|здравствуй(?:те)?|добрый (?:день|вечер)|доброе утро",
    "sv": "hejsan|hej|hallå|tjena|god (?:morgon|kväll|dag)",
    "tr": "merhaba(?:lar)?|selam|günaydın|iyi (?:günler|akşamlar)",
    "zh": "你好|您好|大家好|早上好|晚上好|嗨",
}
_THANKS = {
    "de": "(?:vielen |besten |herzlichen )?dank|danke",
    "es": "(?:muchas |mil )?gracias",
    "fr": "merci",
    "it": "(?:grazie|ti ringrazio)",
    "ja": "(?:どうも)?ありがとう",
    "nl": "bedankt|dank (?:je|u)|dankjewel",
    "pl": r"dziękuj\w{1,3}|dzięki",
    "pt": "(?:muito )?obrigad[oa]|valeu",
    "ru": r"(?:большое )?спасибо|благодар\w{0,4}",
    "sv": "tack",
    "tr": r"teşekkür\w{0,5}|sağ ?ol",
    "zh": "谢谢|多谢|感谢",
}
_PARTS = {
    "de": "tschüss?|auf wiedersehen|bis (?:bald|dann|morgen|später)|schönen (?:tag|abend)|mach'?s gut",
    "es": r"adiós|hasta (?:luego|pronto|mañana)|que tengas",
    "fr": "au revoir|à (?:bientôt|demain|plus)|bonne (?:journée|soirée|nuit)",
    "it": "arrivederci|a (?:presto|dopo|domani)|buona (?:giornata|serata|notte)",
    "ja": "さようなら|またね|おやすみ",
    "nl": "tot (?:ziens|straks|morgen)|doei|fijne (?:dag|avond)",
    "pl": "do widzenia|na razie|do zobaczenia|miłego",
    "pt": "tchau|até (?:logo|breve|amanhã|mais)",
    "ru": "до (?:свидания|встречи|завтра)|пока[.!]?$",
    "sv": "hej ?då|vi ses|ha det",
    "tr": "hoşça ?kal|görüşürüz|güle güle",
    "zh": "再见|拜拜|回头见",
}
_REFUSES = {
    "de": "nein|nee|nö|lieber nicht",
    "es": "no(?=[,.!])|mejor no",
    "fr": "non",
    "it": "no(?=[,.!])|meglio di no",
    "ja": "いいえ|いや[、。]",
    "nl": "nee|liever niet",
    "pl": "nie(?=[,.!])|raczej nie",
    "pt": "não(?=[,.!])|melhor não",
    "ru": "нет",
    "sv": "nej",
    "tr": "hayır",
    "zh": "不用|不是|不要|不行|没有",
}
_AGREES = {
    "de": "ja|genau|gut|gerne?|klar|okay|ok|alles klar|in ordnung|perfekt|super|einverstanden|natürlich|stimmt|prima",
    "es": "sí|claro|vale|de acuerdo|perfecto|muy bien|bien|bueno|genial|por supuesto|ok|exacto",
    "fr": "oui|d'accord|parfait|bien sûr|très bien|super|ok|entendu|exact",
    "it": "sì|certo|va bene|d'accordo|perfetto|ok|benissimo|esatto|bene",
    "ja": "はい|ええ|わかりました|分かりました|了解|承知|いいですね",
    "nl": "ja|prima|goed|oké|ok|natuurlijk|akkoord|perfect",
    "pl": "tak|dobrze|ok|jasne|świetnie|oczywiście|zgoda",
    "pt": "sim|claro|certo|está bem|tudo bem|perfeito|ok|ótimo|combinado",
    "ru": "да|хорошо|конечно|ладно|понятно|отлично|верно",
    "sv": "ja|okej|ok|bra|absolut|visst|perfekt|självklart",
    "tr": "evet|tamam|tabii|elbette|olur|peki",
    "zh": "好的?|是的?|可以|没问题|行|对",
}
_WANTS = {
    "de": (
        "ich (?:möchte|will|brauche|suche|muss|würde|hätte)|wir (?:möchten|wollen|brauchen|suchen|müssen)"
        "|(?:brauch|möcht|such|will|wollen|müssen) (?:ich|wir)|brauche|(?:kannst|könntest) du|(?:können|könnten) sie"
        "|bitte|hilf mir|lass uns|sag mir|zeig mir"
    ),
    "es": (
        "quiero|quisiera|queremos|necesito|necesitamos|busco|buscamos|(?:me|nos) gustaría|tengo que|tenemos que"
        "|(?:puedes|podrías|puede usted)|por favor|ayúdame|vamos a|me hace falta"
    ),
    "fr": (
        "je (?:veux|voudrais|cherche|dois|souhaite)|j'(?:aimerais|ai besoin)"
        "|(?:nous|on) (?:voulons|voudrions|cherchons|devons|avons besoin|veut|voudrait|doit)|il (?:me|nous) faut"
        "|(?:peux|pourrais)[- ]tu|tu (?:peux|pourrais)|(?:pouvez|pourriez)[- ]vous|s'il (?:te|vous) plaît"
        "|aide[sz]?[- ]moi"
    ),
    "it": (
        "voglio|vorrei|vogliamo|vorremmo|(?:mi|ci) serv(?:e|ono)|ho bisogno|abbiamo bisogno|cerco|cerchiamo|devo"
        "|dobbiamo|puoi|potresti|per (?:favore|piacere)|aiutami|mi aiuti"
    ),
    "ja": "たいです|たいの|たいと|ほしい|欲しい|探して|必要|ください|下さい|お願い|教えて|手伝って",
    "nl": (
        "ik (?:wil|zou|zoek|moet)|we (?:willen|zoeken|moeten|zouden)|hebben? (?:ik |we |wij )?(?:\\S+ ){0,6}nodig"
        "|(?:kun|kan|zou) je|kunt u|alsjeblieft|alstublieft|help me"
    ),
    "pl": (
        r"chc[ęe]|chcemy|chciał\w{0,5}|potrzebuj\w{1,3}|szukam|szukamy|muszę|musimy|możesz|mógłbyś|mogłabyś|proszę|pomóż"
    ),
    "pt": (
        "quero|queremos|queria|gostaria|gostaríamos|preciso|precisamos|procuro|procuramos|tenho (?:de|que)"
        "|temos (?:de|que)|(?:podes|você pode|poderia)|por favor|me ajud[ae]|ajuda-me"
    ),
    "ru": (
        "хочу|хотим|хотел[аи]?|хотелось бы|нуж(?:ен|на|но|ны)|ищу|ищем|надо|мож(?:ешь|ете)|мог(?:ли|ла)? бы|пожалуйста"
        "|помоги(?:те)?|подскаж\\w{1,4}"
    ),
    "sv": (
        "(?:jag|vi) (?:vill|skulle vilja|behöver|söker|letar|måste)|(?:kan|skulle) du|snälla|hjälp mig"
        "|behöver (?:jag|vi)"
    ),
    "tr": (
        r"\w{0,20}istiyor\w{0,4}|ister(?:im|iz)|arıyor(?:um|uz)|lazım|gerek(?:iyor)?|ihtiyac\w{0,6}|lütfen"
        r"|\w{1,20}bilir misin(?:iz)?"
    ),
    "zh": "我们?(?:想|要|需要|得)|帮我|帮忙|请|麻烦|能不能|给我",
}
_OPENING_LISTS = (
    (SentenceForm.THANKS, _THANKS),
    (SentenceForm.FAREWELL, _PARTS),
    (SentenceForm.GREETING, _GREETS),
    (SentenceForm.REFUSAL, _REFUSES),
    (SentenceForm.AGREEMENT, _AGREES),
)


def _bounded(language: str, pattern: str) -> str:
    return f"(?:{pattern})" if language in _UNSPACED else rf"(?<!\w)(?:{pattern})(?!\w)"


def _opening(language: str) -> re.Pattern[str]:
    return re.compile(
        "|".join(f"(?P<{form.name}>{_bounded(language, lists[language])})" for form, lists in _OPENING_LISTS)
    )


_OPENINGS: Mapping[str, re.Pattern[str]] = {language: _opening(language) for language in _GREETS}
_WANTING: Mapping[str, re.Pattern[str]] = {
    language: re.compile(_bounded(language, pattern)) for language, pattern in _WANTS.items()
}
_COURTEOUS: Mapping[str, re.Pattern[str]] = {
    language: re.compile("|".join(_bounded(language, lists[language]) for lists in (_GREETS, _THANKS, _PARTS, _WANTS)))
    for language in _GREETS
}
_ENDS = "\"')”’»」 "
_MOSTLY = 0.8
"""An opening that is so much of a question is all of it: "gracias, ¿eh?"."""
_READ_CHARS = 400


def foreign_form(folded: str, language: str) -> SentenceForm:
    """What kind of move a sentence is, in lower case, of another language than English."""
    sentence = folded.strip().replace("’", "'")[:_READ_CHARS]
    asks = folded.rstrip(_ENDS).endswith(("?", "？"))
    if language not in _OPENINGS:
        return SentenceForm.QUESTION if asks else SentenceForm.STATEMENT
    if _WANTING[language].search(sentence):
        return SentenceForm.REQUEST
    opening = _OPENINGS[language].match(sentence.lstrip("¡¿"))
    if opening is not None and not (asks and opening.end() < len(sentence) * _MOSTLY):
        return SentenceForm[opening.lastgroup or "STATEMENT"]
    return SentenceForm.QUESTION if asks else SentenceForm.STATEMENT


def without_courtesies(folded: str, language: str | None) -> str:
    """A text in lower case without its words of greeting, thanking, parting and wanting, which name no subject."""
    pattern = _COURTEOUS.get(language or "")
    return folded if pattern is None else pattern.sub(" ", folded)
