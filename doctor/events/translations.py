"""What systems, compilers and shells say in other languages, with the English of it."""

from __future__ import annotations

from collections.abc import Mapping

ENGLISH: Mapping[str, tuple[str, ...]] = {
    "The specified module could not be found": (
        "找不到指定的模块",
        "找不到指定的模組",
        "Das angegebene Modul wurde nicht gefunden",
        "Le module spécifié est introuvable",
        "No se puede encontrar el módulo especificado",
        "Não foi possível encontrar o módulo especificado",
        "Impossibile trovare il modulo specificato",
        "Nie można odnaleźć określonego modułu",
        "Не найден указанный модуль",
        "指定されたモジュールが見つかりません",
        "지정된 모듈을 찾을 수 없습니다",
    ),
    "The specified procedure could not be found": (
        "找不到指定的程序",
        "Die angegebene Prozedur wurde nicht gefunden",
        "La procédure spécifiée est introuvable",
        "No se encontró el proceso especificado",
        "Не найдена указанная процедура",
    ),
    "A dynamic link library (DLL) initialization routine failed": (
        "动态链接库(DLL)初始化例程失败",
        "Eine DLL-Initialisierungsroutine ist fehlgeschlagen",
        "Error en una rutina de inicialización de biblioteca de vínculos dinámicos (DLL)",
        "Uma rotina de inicialização da biblioteca de vínculo dinâmico (DLL) falhou",
        "Routine di inizializzazione della libreria di collegamento dinamico (DLL)",
        "DLL(동적 연결 라이브러리) 초기화 루틴을 실행할 수 없습니다",
        "ダイナミック リンク ライブラリ (DLL) 初期化ルーチンの実行に失敗しました",
    ),
    "is not a valid Win32 application": (
        "不是有效的 Win32 应用程序",
        "ist keine zulässige Win32-Anwendung",
        "n'est pas une application Win32 valide",
    ),
    "The system cannot find the file specified": (
        "系统找不到指定的文件",
        "Das System kann die angegebene Datei nicht finden",
        "Le fichier spécifié est introuvable",
        "El sistema no puede encontrar el archivo especificado",
        "Не удается найти указанный файл",
    ),
    "The paging file is too small for this operation to complete": (
        "页面文件太小,无法完成操作",
        "页面文件太小，无法完成操作",
        "Die Auslagerungsdatei ist zu klein",
    ),
    "fatal error": (
        "致命错误",
        "Schwerwiegender Fehler",
        "schwerwiegender Fehler",
        "erreur fatale",
        "error fatal",
    ),
    "Cannot open include file": (
        "无法打开包括文件",
        "Include-Datei kann nicht geöffnet werden",
        "Impossible d'ouvrir le fichier include",
    ),
    "no suitable device found": ("Kein passendes Gerät gefunden",),
    "No such file or directory": (
        "Datei oder Verzeichnis nicht gefunden",
        "Aucun fichier ou dossier de ce type",
        "No existe el fichero o el directorio",
        "没有那个文件或目录",
        "そのようなファイルやディレクトリはありません",
        "File o directory non esistente",
        "File or directory does not exist",
        "File or directory non existing",
        "Ficheiro ou directoria inexistente",
        "Arquivo ou diretório inexistente",
        "Нет такого файла или каталога",
        "그런 파일이나 디렉터리가 없습니다",
        "Nie ma takiego pliku ani katalogu",
        "Bestand of map bestaat niet",
    ),
    "undefined reference to": (
        "未定义的引用",
        "nicht definierter Verweis auf",
        "Nicht definierter Verweis auf",
        "référence indéfinie vers",
    ),
    "undefined reference to `": ("referencia a `",),
    "cannot open input file": (
        "无法打开输入文件",
        "non è possibile aprire il file di input",
        "kann nicht als Eingabedatei geöffnet werden",
        "impossible d'ouvrir le fichier en entrée",
        "no se puede abrir el archivo de entrada",
        "não é possível abrir o arquivo de entrada",
        "入力ファイルを開けません",
        "입력 파일을 열 수 없습니다",
        "не удается открыть входной файл",
    ),
    "unresolved external symbol": (
        "无法解析的外部符号",
        "Verweis auf nicht aufgelöstes externes Symbol",
        "symbole externe non résolu",
    ),
    "Segmentation fault": (
        "Speicherzugriffsfehler",
        "Erreur de segmentation",
        "Violación de segmento",
        "段错误",
    ),
    "Killed": (
        "已杀死",
        "Getötet",
        "Processus arrêté",
    ),
    "error:": (
        "错误:",
        "錯誤:",
        "Fehler:",
        "erreur:",
        "ошибка:",
        "エラー:",
        "오류:",
    ),
}
"""Windows: the messages of FormatMessage for the errors 2, 126, 127, 193, 1114 and 1455.

GNU: the message catalogs of gcc, binutils, bash and glibc.
"""
