"""What secrets are called."""

from __future__ import annotations

import re

PASSWORD_WORDS = {
    "English": "password passwd passphrase passcode pass-phrase pass_phrase passkey keypass storepass requirepass pwd"
    " pw pass psk _pass -pass assword: p/w",
    "of tools": "identified_by seed_phrase recovery_phrase secret_phrase mnemonic seed_words"
    " memorable_word security_word safe_word magic_word",
    "German": "passwort kennwort losungswort zugangscode zugriffscode kenncode codewort netzwerkschlüssel",
    "French": "mot_de_passe mots_de_passe mdp phrase_secrète phrase_de_passe code_d'accès",
    "Spanish": "contrasena contraseña frase_de_contraseña código_de_acceso codigo_de_acceso",
    "Portuguese": "senha palavra-passe palavra_passe código_de_acesso codigo_de_acesso",
    "Italian": "parola_d'ordine parola_chiave codice_di_accesso codice_d'accesso",
    "Catalan": "contrasenya",
    "Dutch": "wachtwoord wachtzin toegangscode",
    "Danish, Norwegian, Swedish": "adgangskode passord lösenord kodeord losenord",
    "Finnish": "salasana tunnussana",
    "Estonian, Latvian, Lithuanian": "parool parole slaptažodis",
    "Icelandic": "lykilorð",
    "Polish": "hasło haslo hasłem hasła kod_dostępu",
    "Czech, Slovak": "heslo hesla heslem",
    "Hungarian": "jelszó jelszava",
    "Croatian, Serbian, Slovene": "lozinka lozinku zaporka šifra geslo лозинка",
    "Romanian": "parola parolă",
    "Turkish": "şifre şifresi şifreniz parolası sifre sifresi",
    "Russian, Ukrainian, Bulgarian": "пароль пароля паролем парола код_доступа",
    "Greek": "κωδικός κωδικο συνθηματικό",
    "Hebrew": "סיסמה סיסמא",
    "Arabic, Persian": "كلمة_المرور كلمة_السر كلمة_مرور كلمة_سر رمز_المرور الرقم_السري رمز_عبور گذرواژه",
    "Hindi, Bengali": "पासवर्ड পাসওয়ার্ড",
    "Indonesian, Malay, Filipino": "kata_sandi kata_laluan sandi_wifi",
    "Vietnamese": "mật_khẩu mat_khau",
    "Thai": "รหัสผ่าน",
    "Chinese": "密码 密碼 口令",
    "Japanese": "パスワード 暗証番号 合言葉",
    "Korean": "비밀번호 암호 패스워드 비번",
}
"""What passwords are called, by language; `_` stands for a blank."""

PASSWORDS = frozenset(
    word.replace("_", " ").strip() if word[0] != "_" else word
    for line in PASSWORD_WORDS.values()
    for word in line.split()
) | {"pass_phrase"}
LOGINS = frozenset({
    "credential", "creds", "log in", "login", "sign in", "zugangsdaten", "zugang", "anmeld", "identifiant", "clave",
    "chave", "clef", "chiave", "nyckel", "klucz", "logowania", "логин", "пин", "geheimwort", "wifi", "wi-fi",
    "wlan", "basic auth", "credenziali", "inlog", "datos de acceso", "dados de acesso", "dati di accesso",
    "melde dich", "melden sie sich", "connecte-toi", "connectez-vous", "se connecter", "inicia sesión",
    "iniciar sesión", "entra con", "entrar com", "entre com", "accedi", "accedere", "zaloguj", "войти", "войди",
    "logga in", "log ind", "logg inn", "kirjaudu", "přihlas", "giriş", "schlüssel",
})  # fmt: skip
"""Names that have other meanings too: only what looks like a password is one."""
KEYS = frozenset(
    {"secret", "token", "credential", "key", "_salt", '"auth"', "_auth", "x-auth", "_bearer", "jeton", "токен"}
    | {
        "clé api",
        "clé d'api",
        "clave api",
        "clave de api",
        "clave de la api",
        "chave de api",
        "chave da api",
        "chave api",
    }
    | {
        "clé secrète",
        "clave secreta",
        "chave secreta",
        "chiave segreta",
        "chiave api",
        "schlüssel",
        "sleutel",
        "ключ api",
        "ключ",
        "密钥",
        "密鑰",
        "キー",
        "토큰",
        "令牌",
        "トークン",
    }
)
CODES = frozenset({
    "code", "pin", "otp", "combination", "combo", "geheimzahl", "codigo", "código", "codice", "cijfercode", "kod",
    "kód",
    "κωδικ", "код",
    "验证码", "驗證碼", "校验码", "認証コード", "確認コード", "인증번호", "인증코드", "رمز", "קוד", "कोड",
    "tan:", "puk", "keypad", "digicode",
})  # fmt: skip
"""Names behind which digits are a secret, if they do not say which others they are: an error, a place, an offer."""
NAMES = PASSWORDS | LOGINS | KEYS | CODES
"""In lower case; a secret may stand behind each."""
KEY_BEFORE = re.compile(
    r"(?:api|access|private|account|auth|secret|signing|encryption|licen[sc]e|deploy|service|master|admin|root|storage"
    r"|server|webhook|client|shared|session|setup|unseal|recovery|ssh|bot|app"
    r"|wpa[23]?|wi-?fi|wlan|vpn"
    r"|aes|hmac|fernet|cipher|crypto|decryption|jwt|symmetric|wrapping|stream|device|pairing|[_-])[-_ ]?\Z",
    re.IGNORECASE,
)
"""What stands before a key that is a secret."""
_STRICT = (
    r"pass(?:word|wd|phrase|code)|pwd|passwort|kennwort|contrase[nñ]a|senha|has[lł]o|wachtwoord|[sş]ifre|пароль|密码|密碼"
    r"|パスワード|비밀번호|mot[-_ ]de[-_ ]passe|heslo|lösenord|salasana|psk|mnemonic|(?:seed|recovery)[-_ ]?phrase"
    r"|(?:recovery|backup|one[-_ ]?time|verification|2fa|mfa|totp)[-_ ]?(?:code|password|secret|seed)"
    r"|secret(?:[-_ ]?(?:access[-_ ]?)?key)?|api[-_ ]?(?:key|secret|token)|access[-_ ]?key|private[-_ ]?key"
    r"|client[-_ ]?secret|account[-_ ]?key|shared[-_ ]?access[-_ ]?key"
    r"|(?:auth|access|refresh|bearer|session|id)[-_ ]?token"
)
SECRET_NAME = re.compile(
    rf"(?:(?<![a-z])(?P<short>cvv|cvc|otp|pin)|(?P<strict>{_STRICT})"
    r"|(?<![a-z])(?P<loose>token|auth|authorization|credentials?|signature|cookie))s?$",
    re.IGNORECASE,
)
"""The name of an argument or field that holds a secret; under a `loose` one may stand something else."""
SEED_PHRASES = frozenset({"seed phrase", "recovery phrase", "secret phrase", "mnemonic", "seed words"})
PHRASES = SEED_PHRASES | {
    "passphrase",
    "pass-phrase",
    "pass phrase",
    "pass_phrase",
    "phrase secrète",
    "phrase de passe",
    "wachtzin",
}
WORD_ALONE = frozenset({
    "assword:", "pwd", "pw", "pass", "psk", "mdp", "heslo", "haslo", "senha", "sifre", "parola", "parole", "parool",
    "mnemonic", "geslo", "šifra", "creds", "login", "log in", "sign in", "wifi", "clave", "chave", "clef", "zugang",
    "пин", "tan:", "puk",
})  # fmt: skip
"""Names that are parts of other words."""
PASS_BEFORE = re.compile(
    r"(?:key|store|user|root|db|my|admin|smtp|mail|ftp|ssh|ssl|login|wifi|sudo|master|app|svc|service|bind|sql|pg|auth|http"
    r"|proxy|cert|ca|trust|bot|api|account|client|server|default|sys|remote|local|imap|pop|ldap|redis|mongo|rabbit|owner"
    r"|new|old|temp|tmp|test|dev|prod|system|zip|pdf|vpn|rdp|vnc|ipmi|web)\Z",
    re.IGNORECASE,
)
"""What stands before `pass` in the name of a password."""
BEGINNINGS = frozenset({"pass", "_pass", "-pass"})
"""Names that begin other words, which are names of their own."""
NO_CAMEL_KEY = re.compile(r"(?:object|s3|routing|row|item|hash|lookup|file|blob|sort|map|group)\Z", re.IGNORECASE)
"""What stands before `Key` in a name whose value is an address, though it may look like a token."""
NO_TOKEN = re.compile(
    r"(?:page|sync|next|continuation|cancellation|public|primary|foreign|sort|partition|cache|idempotency|dedup\w{0,9}"
    r"|recv|receive|search|locate|list|send|known|trusted|site|websocket|publishable)"
    r"[-_ ]?\Z",
    re.IGNORECASE,
)
"""What stands before the name of a token or key that is none."""
