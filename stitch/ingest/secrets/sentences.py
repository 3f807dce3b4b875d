"""Secrets as people and tools tell them."""

from __future__ import annotations

import re

from stitch.ingest.secrets.rules import Rule, rule_within
from stitch.ingest.secrets.values import (
    has_digit,
    has_three_kinds,
    is_card,
    is_dense,
    is_joined_words,
    is_odd_argument,
    is_odd_word,
    is_password,
    is_plain_secret,
    is_seed_phrase,
    is_word_password,
)


def _is_told(text: str) -> bool:
    word = text.rstrip(".?!")
    return (word.isdigit() and len(word) >= 4) or is_odd_argument(word)


_SELDOM = re.compile(r"[~#$%^*+=]")


def _is_alone(text: str) -> bool:
    """Whether a line below an address is a password by its signs alone."""
    return is_odd_word(text) or (
        len(text) >= 8 and _SELDOM.search(text) is not None and text != text.lower() and is_password(text)
    )


def _is_joined(text: str) -> bool:
    """Whether a sentence ends with words written together, a capital within: `sorrelSoup`."""
    return text[0].islower() and is_joined_words(text)


def _is_defaults(text: str) -> bool:
    return is_plain_secret(text) and has_three_kinds(text)


SENTENCES: tuple[Rule, ...] = (
    Rule(
        "one-time-code", ("tan ",), re.compile(r"\b(?:TAN|[a-z]{1,4}TAN) (?:(?:lautet|ist|is):? )?(?P<secret>\d{6})\b")
    ),
    rule_within(
        "password",
        signs="@",
        accepts=is_plain_secret,
        pattern=r"@[\w-]{1,40}\.[\w.-]{2,20}(?: [:/|] ?| ?→ ?|[/|] )(?P<secret>[^\s,;|<>]{6,40})(?=[ \t]*(?:$|\n|\())",
    ),
    rule_within(
        "password",
        signs="@",
        accepts=_is_alone,
        pattern=r"@[\w-]{1,40}\.[\w.-]{2,20}[ \t]{0,3}\n[ \t]{0,8}(?P<secret>[^\s,;|<>@]{6,40})(?=[ \t]*(?:$|\n))",
    ),
    rule_within(
        "password",
        signs=" p:| p=|/p:|,p:| pw:| pw=",
        accepts=_is_told,
        pattern=r"\b(?:u|un|usr|user|login|id)[:=] ?[^\s,;/|]{1,60}[\s,;/|]{1,4}(?:p|pw|pass)[:=] ?"
        r"(?P<secret>[^\s,;|]{4,60})",
    ),
    rule_within(
        "recovery-code",
        signs="bitlocker|recovery|wiederherstell|récup|recuper|herstel",
        pattern=r"(?<![\w-])(?P<secret>\d{6}(?:-\d{6}){7})(?![\w-])",
    ),
    rule_within(
        "password",
        signs="wpa|wlan|wifi|wi-fi|fritz|speedport|livebox",
        pattern=r"(?:wpa[23]?|wlan|wi-?fi|fritz|speedport|livebox)[^\n]{0,60}(?:\n[^\n:]{0,20})?"
        r"(?:key|schlüssel|clé|clave|chave|chiave|sleutel)[\s:=]{1,4}(?P<secret>\d{20}|\d{4}(?: \d{4}){3,4})(?![\w-])",
    ),
    rule_within(
        "password",
        signs="wpa|wlan|wifi|wi-fi",
        accepts=is_plain_secret,
        pattern=r"\b(?:wpa[23]?|wlan|wi-?fi)\b[^\n]{0,60}\b(?:key|schlüssel|clé|clave|chave|chiave|sleutel)"
        r"(?: is| ist| est| es| è| é)?[\s:=]{1,4}(?P<secret>[^\s\"',;]{8,63})",
    ),
    rule_within(
        "secret",
        signs='.key: |.key": ',
        accepts=is_dense,
        pattern=r"\.key\"?: [\"']?(?P<secret>[A-Za-z0-9+/]{60,8000}={0,2})(?![\w+/])",
    ),
    rule_within(
        "password",
        signs=" it to | mine to ",
        accepts=is_plain_secret,
        pattern=r"\b(?:changed|reset|switched) (?:it|mine) to [\"'`]?"
        r"(?P<secret>[^\s\"'`,;]{5,59}[^\s\"'`,;.])[\"'`]?[,.;]?\s[^\n]{0,60}\b(?:password|passcode|pw|pin)\b",
    ),
    rule_within(
        "password",
        signs="admin / |root / |guest / |test / |demo / |user / ",
        accepts=is_word_password,
        pattern=r"\b(?:login|logins|credentials|creds|account|zugang|identifiants|accès|credenciales|acceso|accesso)\b"
        r"[^\n]{0,60}[ :](?:admin|root|guest|test|demo|user) / (?P<secret>[^\s\"',;/]{5,39}[^\s\"',;/.])",
    ),
    rule_within(
        "secret",
        signs="account.key|accountkey|account_key|account-key",
        pattern=r"account[._-]?key[^\n]{0,100}?[\"'\s=:,](?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    rule_within(
        "password",
        signs="chap-secrets|pap-secrets|ppp secrets",
        pattern=r"(?:chap|pap|ppp)[- ]secrets:?\s{1,4}[\"']?[\w@.-]{1,60}[\"']?\s{1,8}\*\s{1,8}"
        r"[\"']?(?P<secret>[^\s\"']{4,60})",
    ),
    rule_within(
        "password",
        signs="<auth-user-pass>",
        pattern=r"<auth-user-pass>\s{1,3}\S{1,80}\n\s{0,4}(?P<secret>[^\s<]{4,80})",
    ),
    rule_within(
        "tool-token",
        signs="azure devops|dev.azure|visualstudio.com|azdo",
        accepts=has_digit,
        pattern=r"(?<![\w/-])(?P<secret>[a-z0-9]{52})(?![\w-])",
    ),
    rule_within(
        "secret", signs="account_sid", pattern=r"account_sid\w{0,6}[\"']?,\s?[\"'](?P<secret>[0-9a-f]{32})[\"']"
    ),
    rule_within(
        "cookie",
        signs="true /|true\t/|false /|false\t/",
        accepts=has_digit,
        pattern=r"(?:true|false)\s/\S{0,60}\s(?:true|false)\s\d{1,12}\s\S{1,60}\s(?P<secret>[^\s]{12,4000})",
    ),
    rule_within(
        "one-time-code",
        signs="code d|código d|codigo d|codice d|код |kod |code secret|code confidentiel|código secreto|codice segreto",
        pattern=r"(?:code|c[óo]digo|codice|kod|код) (?:d['’]|d[eioa] )?(?:secret|confidentiel|secreto|segreto"
        r"|activation|v[ée]rification|s[ée]curit[ée]"
        r"|acc[eè]s|connexion|confirmation|déverrouillage|acceso|seguridad|verificación|desbloqueo|verifica|sicurezza"
        r"|accesso|sblocco|acesso|segurança|verificação|desbloqueio|подтверждения|доступа|безопасности|активации|weryfikacyjny"
        r"|dostępu)(?: ?[:=] ?| (?:est |es |è |é )?)(?P<secret>\d{4,8})(?![\w%-])(?![.,:/]\d)",
    ),
    rule_within(
        "pin",
        signs="tresor|the safe|haustür|garage|alarm|schließfach|locker|coffre|caja fuerte|cassaforte|cofre|kluis|сейф",
        pattern=r"(?:tresor|safe|haustür|garage|alarm|schließfach|locker|coffre|caja fuerte|cassaforte|cofre|kluis"
        r"|сейф)"
        r"[^\n.:\d]{0,30} (?:mit|with|avec|con|com|met|med|с) (?P<secret>\d{4,8})"
        r"(?=$|[\n.,;!?](?!\d)|\s(?:auf|then|and|und|et|y|e)\b)",
    ),
    rule_within(
        "pin",
        signs="clave de|chave d|senha d",
        pattern=r"\b(?:clave|chave|senha) d(?:e|el|o|a) (?:la |mi |mis |su |meu |minha )?"
        r"(?:banco|cajero|tarjeta|móvil|celular|alarma|puerta|portal|caja fuerte|cart[ãa]o|alarme|porta|port[ãa]o"
        r"|cofre)"
        r"(?: es| é|:)? (?P<secret>\d{4,8})(?![\w%-])(?![.,:/]\d)",
    ),
    rule_within(
        "pin",
        signs="пин|пін|geheimzahl|код до|код от|код подъ|код двер|код сейф|код ворот|şifre|密码|密碼",
        pattern=r"(?:(?<!\w)(?:п[иі]н(?:-?код)?(?: (?:карт[ыи]|картки|телефона))?|geheimzahl|şifre(?:m|n|si|niz)?"
        r"|код (?:от |до )?(?:домофона|подъезда|двери|сейфа|ворот))(?: (?:это|—|–|-|ist|lautet))?:? |密[码碼] )"
        r"(?P<secret>\d{4,8})(?![\w%-])(?![.,:/]\d)",
    ),
    rule_within(
        "password",
        signs="it's|it’s|now ",
        accepts=_is_told,
        pattern=r"\b(?:pass(?:word|code|phrase)|pin)\b[^\n;=(){}]{0,80}?\b(?:it['’]s(?: now)?|now(?: it['’]s)?) "
        r"[\"'“`](?P<secret>[^\s\"'“”`]{4,60})[\"'”`]",
    ),
    rule_within(
        "password",
        signs=" password, | passcode, | passphrase, ",
        accepts=is_plain_secret,
        pattern=r"\b(?:default|standard|temporary|initial|same|usual|old|new) pass(?:word|code|phrase), "
        r"[\"'“`]?(?P<secret>[^\s\"'“”`,;]{5,59}[^\s\"'“”`,;.!?])(?![\w(])",
    ),
    rule_within(
        "password",
        signs="password is |password was |passcode is |passphrase is ",
        accepts=_is_joined,
        pattern=r"\b(?:my|your|his|her|our|their|the)(?: [a-z-]{2,12})? pass(?:word|code|phrase) (?:is|was) "
        r"(?P<secret>[A-Za-z]{8,30})(?=[.!]?[ \t]*(?:$|\n))",
    ),
    rule_within(
        "secret",
        signs="12 words|24 words|12-word|24-word|twelve words|twenty-four words",
        accepts=is_seed_phrase,
        pattern=r"\b(?:12|24|twelve|twenty-four)[- ]words?\b[^\n:=]{0,30}?(?::| are:?| is:?|=)\s{1,3}[\"'“]?"
        r"(?P<secret>(?:[a-z]{3,8},?\s){11,23}[a-z]{3,8})",
    ),
    rule_within(
        "pin",
        signs="combo |combination ",
        pattern=r"\b(?:combo|combination)(?: is|:)? (?P<secret>\d{1,2}-\d{1,2}-\d{1,2})(?![\w-])",
    ),
    rule_within(
        "secret",
        signs="/private-",
        accepts=has_digit,
        pattern=r"/private-(?P<secret>[0-9a-f]{24,64})(?![\w-])",
    ),
    rule_within(
        "pin",
        signs="cvv|cvc|cvn|csc|prüf|cryptogramm",
        pattern=r"\b(?:cvv2?|cvc2?|cvn|csc|(?:karten)?prüf(?:nummer|ziffer)|cryptogramme)"
        r"(?: is| code|:| =|=)? ?(?P<secret>\d{3,4})\b",
    ),
    rule_within(
        "card-number",
        signs="card n|card:|card |card_n|cardn|visa |visa:|amex|mastercard|cvv|cvc|pan:|kreditkarte|tarjeta|carte b"
        "|carte de|carta di|cartão|karte|karta|kort|kartu|карт|カード|卡",
        accepts=is_card,
        pattern=r"(?<![\w.-])(?P<secret>[3-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}|3\d{3}[ -]?\d{6}[ -]?\d{5})(?![\w-])",
    ),
    rule_within(
        "one-time-code",
        signs="to verify|to log in|to sign in|to confirm|to reset|to activate",
        pattern=r"\b(?:use|enter|type|code|with) (?P<secret>(?:[A-Z]-)?\d{4,8}|\d{3}[- ]\d{3}) to "
        r"(?:verify|log ?in|sign ?in|confirm|reset|activate)",
    ),
    rule_within(
        "recovery-code",
        signs="recovery code|backup code|emergency code",
        accepts=has_digit,
        pattern=r"(?:recovery|backup|emergency) codes?(?: are| is)?:? "
        r"(?P<secret>(?=[\w-]{0,19}\d)(?:\d{4,10}|[A-Za-z0-9-]{6,20})(?![\w-])"
        r"(?:(?:, ?| )(?=[\w-]{0,19}\d)(?:\d{4,10}|[\w-]{6,20})(?![\w-])){0,15})",
    ),
    rule_within(
        "password",
        signs="password from|passcode from|passphrase from|pin from|passwort von|contraseña de",
        accepts=_is_told,
        pattern=r"(?:pass(?:word|code|phrase)|pin|passwort|contraseña) (?:from|von|de) "
        r"[\"']?(?P<secret>[^\s\"',;]{4,60})[\"']? (?:to|auf|a)\s",
    ),
    rule_within(
        "password",
        signs="password from|passcode from|passphrase from|pin from|passwort von|contraseña de",
        accepts=_is_told,
        pattern=r"(?:pass(?:word|code|phrase)|pin|passwort|contraseña) (?:from|von|de) [^\s,;]{4,60} "
        r"(?:to|auf|a) [\"']?(?P<secret>[^\s\"',;]{3,59}[^\s\"',;.])",
    ),
    rule_within(
        "password",
        signs="password to|passcode to|passphrase to|passwort auf|kennwort auf|contraseña a|mot de passe à|senha para",
        accepts=_is_told,
        pattern=r"\b(?:set|reset|chang(?:e|ed|ing)|updat(?:e|ed|ing)|rotated?|setz(?:e|t)|gesetzt|(?:ge)?änder[ent]{1,2}"
        r"|cambi[aéeo]\w{0,3}|chang[éeé]\w{0,2}|mud(?:ei|ar|ou)|alter(?:ei|ar|ou))\b[^\n.:;=]{0,60}?"
        r"(?:pass(?:word|code|phrase)|pin|[pP]asswort|[kK]ennwort|contraseña|mot de passe|senha) (?:to|auf|a|à|para) "
        r"[\"'`]?(?P<secret>[^\s\"'`,;]{3,59}[^\s\"'`,;.)])",
    ),
    rule_within(
        "password",
        signs="geändert|gesetzt|umgestellt",
        accepts=_is_told,
        pattern=r"\b(?:pass?wort|kennwort|pw|pin)\b[^\n.:;=]{0,40}? auf [\"'`]?(?P<secret>[^\s\"'`,;]{4,60})[\"'`]? "
        r"(?:geändert|gesetzt|umgestellt|zurückgesetzt)",
    ),
    rule_within(
        "password",
        signs="password is generated for|generated password for",
        pattern=r"(?:password is generated|generated password) for [^\s:]{1,80}: (?P<secret>[^\s\"']{8,80})(?=\s|$)",
    ),
    rule_within(
        "password",
        signs="success: '|success: \"|] success|credentials in|valid credential|credentials found|cracked|pwn3d"
        "|hashcat",
        accepts=is_odd_argument,
        pattern=r"\b(?:success|(?:valid |found )?credentials?|cracked|pwn3d!?|hashcat)\b[^\n:>]{0,60}"
        r"(?:->|:)[\s'\"]{1,4}(?:[0-9a-f]{32,128}|[\w.\\@-]{2,40}):(?P<secret>[^\s'\":/]{4,60})(?=[\s'\"]|$)",
    ),
    rule_within(
        "secret",
        signs="security question",
        pattern=r"security question[^\n]{0,120}(?:\n\s{0,9})?\banswer:? ?[\"']?(?P<secret>[^\s\"'.,]{3,60})",
    ),
    rule_within(
        "password",
        signs="admin and |admin und |root and |admin/|admin:|root/|root:|admin / |root / |administrator/|ubuntu / "
        "|vagrant/|guest / |tomcat/",
        accepts=_is_defaults,
        pattern=r"\b(?:admin|root|administrator|ubuntu|vagrant|guest|tomcat)(?: / |[/:]| (?:and|und) )"
        r"(?P<secret>[^\s\"'/:,;]{6,40})(?![/\w])",
    ),
    rule_within(
        "recovery-code",
        signs="recovery code|backup code|emergency code|scratch code|recovery-code|backup-code",
        accepts=has_digit,
        pattern=r"(?:recovery|backup|emergency|scratch)[- ]codes?[^\n]{0,40}\n"
        r"(?P<secret>(?:[\s\d.)*-]{0,6}[A-Za-z0-9]{4,12}(?:[- ][A-Za-z0-9]{4,12}){0,3}[ \t]{0,3}(?:\n|$)){2,16})",
    ),
    rule_within(
        "secret",
        signs="otpauth:|totp|2fa|authenticator|seed",
        pattern=r"(?:\botpauth:[^\s]{0,200}?[?&]secret="
        r"|\b(?:totp|2fa|mfa|authenticator|seed)\b[^\n:=]{0,60}[:=] ?[\"']?)"
        r"(?P<secret>(?-i:[A-Z2-7]{16,128}))(?![A-Za-z0-9])",
    ),
    rule_within(
        "secret",
        signs="key: |code: |secret: |key is|secret is|seed",
        accepts=has_digit,
        pattern=r"(?:key|code|secret|seed)(?: is)?:? (?P<secret>(?:[A-Z2-7]{4}[ -]){3,12}[A-Z2-7]{4})\b",
    ),
)
"""Secrets as people tell them."""
