"""Words by which a role, a name or a type of message says that a tool or a text speaks, and not somebody."""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


USERS = _words("user human customer client system developer operator")
TOOLS = _words(
    "tool tools function observation environment env terminal shell executor interpreter ipython computer sandbox",
    "browser api stdout stderr",
)
"""Words that mean a tool beside any other, unless the last word is somebody who speaks."""
DOCUMENTS = _words("document documents doc file page web webpage email attachment retrieved search knowledge source")
RECORDS = _words("data error event events exception job payload process ssh status table trace")
"""Words that mean a tool alone, and nothing beside others or as the type of a message."""
TOOL_WORDS = (
    TOOLS
    | RECORDS
    | _words(
        "bash zsh sh pwsh cmd powershell console python jupyter notebook repl runtime docker kubernetes kubectl",
        "container http curl wget webhook callback mcp server service microservice daemon cron subprocess plugin",
        "plugins addon extension git github gitlab jira ci grep find cat ls pwd npm pip pytest unittest crawler",
        "scraper spider parser fetcher loader downloader indexer reader kernel calculator compiler linter decompiler",
        "monitor logger telemetry runner sensor device iot camera lidar gps thermostat sql sqlite postgres",
        "postgresql mysql mongodb redis graph blob vector database databases db dataframe bigquery dynamodb",
        "elasticsearch pinecone weaviate qdrant vectorstore vectordb dataset storage bucket cache queue kafka mqtt",
        "serpapi duckduckgo tavily pubmed arxiv gmail outlook calendar weather maps stocks spreadsheet excel zapier",
        "ifttt homeassistant salesforce hubspot twilio shopify generation translation transcription transcript",
        "screenshot stdin csv exec execution result results output outputs response observations log logs logfile",
        "traceback toolmessage toolresult toolresponse tooloutput functionmessage functionresponse functions",
        # Products without a word for what they do; none that is the name of a person.
        "pgvector milvus faiss chromadb lancedb vespa typesense meilisearch algolia opensearch solr lucene snowflake",
        "databricks redshift duckdb clickhouse trino mariadb cockroachdb cassandra couchbase couchdb firebase supabase",
        "firestore sqlalchemy cypher sparql kibana grafana datadog splunk prometheus pagerduty newrelic airflow",
        "dagster puppeteer playwright selenium chromium chrome firefox firecrawl scrapy beautifulsoup browserbase",
        "browserless apify brightdata perplexity exasearch searxng kagi wolfram wolframalpha mathematica",
        "sympy matlab pandas numpy matplotlib openapi swagger graphql grpc zendesk intercom freshdesk servicenow",
        "confluence notion airtable smartsheet asana trello clickup slack msteams telegram whatsapp sendgrid mailgun",
        "mailchimp dropbox onedrive sharepoint gdrive icloud evernote obsidian todoist bitbucket gitea circleci",
        "terraform ansible cloudformation cloudwatch lambda sagemaker vercel netlify heroku stripe paypal",
        "quickbooks xero docusign typeform calendly yelp tripadvisor skyscanner openweathermap openstreetmap mapbox",
        "googlemaps accuweather spotify youtube vimeo crossref zotero yfinance bloomberg langsmith llamaindex",
        "huggingface replicate whisper tesseract pypdf pdfminer pandoc ffmpeg imagemagick virtualbox qemu",
        # The commonest of them in other languages: tool, function, result, search, environment, file, data.
        "herramienta herramientas función resultado resultados búsqueda entorno documentos archivo consola consulta",
        "datos outil outils fonction résultat résultats recherche environnement fichier données werkzeug werkzeuge",
        "funktion ergebnis ergebnisse suche umgebung dokument dokumente datei datenbank ausgabe strumento strumenti",
        "funzione risultato risultati ricerca ambiente documento ferramenta ferramentas função pesquisa arquivo",
        "gereedschap functie resultaat omgeving bestand verktyg resultat miljö sökning værktøj verktøy työkalu tulos",
        "инструмент инструменты функция результат результаты поиск среда документ файл вывод narzędzie narzędzia",
        "funkcja wynik wyniki środowisko plik nástroj nástroje výsledek eszköz eredmény unealtă rezultat araç sonuç",
        "ortam εργαλείο αποτέλεσμα أداة نتيجة כלי תוצאה उपकरण परिणाम alat hasil 工具 工具结果 函数 函數 结果",
        "工具結果 結果 搜索 环境 環境 文档 文件 网页 数据库 ツール 関数 検索 検索結果 文書 도구 함수 결과 검색 환경",
        "문서",
    )
)
"""Words that mean a tool where nothing says that somebody of that trade speaks."""
WITH_DIGITS = _words("n8n crawl4ai s3 ec2 k8s neo4j mem0 bs4 auth0 log4j")
"""Names of tools that a digit parts: their letters alone mean nothing, or somebody."""
DOCUMENT_WORDS = DOCUMENTS | _words(
    "docs files pages website websites webbrowser site url html pdf mail inbox rag retriever retrieval context",
    "contexts passage passages chunk chunks snippet snippets searchresult google bing wikipedia wiki news article",
    "articles kb corpus attachments upload uploads sources citation citations feed rss tweet reddit stackoverflow",
    "ocr reference references external untrusted remote thirdparty internet fetched clipboard memory memories recall",
    "recalled",
)
SPEAKERS = _words(
    "agent agents assistant expert engineer developer programmer coder analyst scientist specialist planner critic",
    "reviewer manager lead editor writer reporter worker surfer navigator bot ai llm model user person speaker",
    "administrator admin architect designer researcher consultant advisor adviser coach clerk officer director",
    "coordinator supervisor orchestrator host guest member moderator customer client operator owner student teacher",
    "tutor representative",
)
"""Words of a role that mean somebody who speaks: an expert of Python is no Python."""
COMMANDS = _words(
    "add append apply browse calculate cancel click compute connect convert create decompile delete disassemble",
    "download echo eval evaluate execute exec fetch find generate get glob grep insert install invoke list load",
    "lookup make modify parse put redeem remove rename replace reset retrieve return save send set str submit sync",
    "todo transfer translate update upload validate verify escribir leer buscar lire écrire chercher lies schreibe",
)
"""Words with which the name of a function begins, and no name of somebody: `get_weather`, `list_users`."""
TRADES = _words("book call check copy edit move open post process query read run search type view write")
"""The same for words that begin the name of somebody, too: `call_center_agent`."""
