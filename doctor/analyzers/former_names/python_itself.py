"""What Python itself once had: the names of Python 2, and those that Python 3 dropped."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.analyzers.recipes import command

_TWO = (
    "The program was written for Python 2, and this is Python 3. More lines of this kind will "
    "follow."
)
_CONVERT = (
    command(
        "Have all files of that kind rewritten",
        *("uv", "run", "--no-project", "--python", "3.12", "python", "-m", "lib2to3", "-w"),
        "<folder>",
        ask={"folder": "the folder of the program"},
        note="Each file that changes is kept beside it as .bak. Python 3.12 is the last with 2to3.",
    ),
)
_COLLECTIONS = ("python/names-moved-out-of-collections",)
_MODULES = (
    ("cPickle", "import pickle"),
    ("urllib2", "import urllib.request as urllib2"),
    ("urlparse", "import urllib.parse as urlparse"),
    ("StringIO", "from io import StringIO"),
    ("cStringIO", "from io import StringIO"),
    ("ConfigParser", "import configparser as ConfigParser"),
    ("Queue", "import queue as Queue"),
    ("Tkinter", "import tkinter as Tkinter"),
    ("tkMessageBox", "from tkinter import messagebox as tkMessageBox"),
    ("httplib", "import http.client as httplib"),
    ("HTMLParser", "from html.parser import HTMLParser"),
    ("commands", "import subprocess as commands"),
    ("__builtin__", "import builtins as __builtin__"),
    ("SocketServer", "import socketserver as SocketServer"),
    ("BaseHTTPServer", "import http.server as BaseHTTPServer"),
    ("thread", "import _thread as thread"),
)
_NAMES = (
    ("xrange", "xrange(n)", "range(n)"),
    ("unicode", "unicode(text)", "str(text)"),
    ("basestring", "isinstance(x, basestring)", "isinstance(x, str)"),
    ("raw_input", "raw_input()", "input()"),
    ("long", "long(x)", "int(x)"),
    ("unichr", "unichr(x)", "chr(x)"),
    ("reduce", "reduce(f, xs)", "from functools import reduce\n\nreduce(f, xs)"),
    ("reload", "reload(module)", "from importlib import reload\n\nreload(module)"),
    ("execfile", "execfile(path)", "exec(open(path).read())"),
)
_GONE = (
    ("time", "clock", "3.8", "time.clock()", "time.perf_counter()"),
    ("base64", "decodestring", "3.9", "base64.decodestring(x)", "base64.decodebytes(x)"),
    ("base64", "encodestring", "3.9", "base64.encodestring(x)", "base64.encodebytes(x)"),
    ("inspect", "getargspec", "3.11", "inspect.getargspec(f)", "inspect.getfullargspec(f)"),
    ("fractions", "gcd", "3.9", "from fractions import gcd", "from math import gcd"),
    (
        "platform",
        "linux_distribution",
        "3.8",
        "platform.linux_distribution()",
        "distro.linux_distribution()  # the package distro",
    ),
)

ROWS: tuple[FormerName, ...] = (
    *(
        FormerName(
            "NameError",
            rf"NameError: (?:global )?name '(?P<name>{name})' is not defined",
            "{name} is a name of Python 2",
            _TWO,
            (Edit(before, after),),
            rewriting=_CONVERT,
        )
        for name, before, after in _NAMES
    ),
    *(
        FormerName(
            "No module named",
            rf"No module named '?(?P<name>{name})'?\s*$",
            "The module {name} is of Python 2",
            _TWO,
            (Edit(f"import {name}", after),),
            rewriting=_CONVERT,
        )
        for name, after in _MODULES
    ),
    *(
        FormerName(
            old,
            rf"(?:module '{module}' has no attribute '(?P<name>{old})'"
            rf"|cannot import name '(?P<name2>{old})'(?: from '{module}'|\s*$))",
            f"Python {since} dropped {module}.{old}",
            f"{module}.{old} was deprecated for years and left with Python {since}.",
            (Edit(before, after),),
            contradicts=_COLLECTIONS,
        )
        for module, old, since, before, after in _GONE
    ),
    FormerName(
        "'dict' object has no",
        r"'dict' object has no attribute 'iter(?P<name>items|values|keys)'",
        "dict.iter{name}() is of Python 2",
        _TWO,
        (Edit("d.iter{name}()", "d.{name}()"),),
        rewriting=_CONVERT,
    ),
    FormerName(
        "has_key",
        r"'(?:dict|OrderedDict|defaultdict)' object has no attribute 'has_key'",
        "dict.has_key() is of Python 2",
        _TWO,
        (Edit("d.has_key(key)", "key in d"),),
        rewriting=_CONVERT,
    ),
    *(
        FormerName(
            old,
            rf"cannot import name '?(?P<name>{old})\b",
            "itertools.{name} is of Python 2",
            _TWO,
            (Edit(f"from itertools import {old}", new),),
            rewriting=_CONVERT,
        )
        for old, new in (
            ("izip_longest", "from itertools import zip_longest as izip_longest"),
            ("izip", "izip = zip"),
            ("imap", "imap = map"),
            ("ifilter", "ifilter = filter"),
        )
    ),
    FormerName(
        "SyntaxError",
        r"SyntaxError: (?:Missing parentheses in call to '(?:print|exec)'"
        r"|multiple exception types must be parenthesized)",
        "The program is written in Python 2",
        _TWO,
        (Edit('print "text"', 'print("text")'),),
        rewriting=_CONVERT,
    ),
    FormerName(
        "SyntaxError",
        r"SyntaxError: invalid syntax",
        "async is a word of the language since Python 3.7, and this program uses it as a name",
        "torch called an argument so until 0.4, when it became non_blocking.",
        (Edit("x.cuda(async=True)", "x.cuda(non_blocking=True)"),),
        near=r"\(async ?= ?\w|, ?async ?= ?\w",
    ),
    FormerName(
        "SyntaxError",
        r"SyntaxError: invalid syntax",
        "This TensorFlow is older than Python 3.7: it uses the word async as a name",
        "TensorFlow serves Python 3.7 since 1.13.",
        package="tensorflow",
        pins=("tensorflow==1.15.*", "protobuf<3.21"),
        python="3.7",
        near=r"def TFE_\w{3,40}\([\w, ]{0,40}\basync\)",
    ),
    FormerName(
        "getchildren",
        r"has no attribute 'getchildren'",
        "Python 3.9 dropped Element.getchildren()",
        "An element is its own list of children since Python 2.7.",
        (Edit("element.getchildren()", "list(element)"),),
    ),
    FormerName(
        "tostring",
        r"'array\.array' object has no attribute '(?P<name>tostring|fromstring)'",
        "Python 3.9 dropped array.{name}()",
        "The method has another name since Python 3.2.",
        (Edit("x.tostring()", "x.tobytes()", "fromstring became frombytes."),),
    ),
    FormerName(
        "isAlive",
        r"has no attribute 'isAlive'",
        "Python 3.9 dropped Thread.isAlive()",
        "The method has another name since Python 2.6.",
        (Edit("thread.isAlive()", "thread.is_alive()"),),
    ),
    FormerName(
        "'encoding'",
        r"(?:JSONDecoder\.|JSONEncoder\.)?__init__\(\) got an unexpected keyword argument "
        r"'encoding'",
        "Python 3.9 takes no encoding in json.load() and json.loads()",
        "The argument had no effect since Python 3.1, and is refused now.",
        (Edit('json.load(file, encoding="utf-8")', "json.load(file)"),),
        near=r"json|JSON",
    ),
    FormerName(
        "invalid mode: '",
        r"ValueError: invalid mode: '(?P<mode>r?U|Ur?|rbU|rU)'",
        "Python 3.11 opens no file in the mode {mode}",
        "All text files are read with universal newlines since Python 3.0.",
        (Edit('open(path, "{mode}")', 'open(path, "r")', "Where a b stands in it: rb."),),
    ),
    FormerName(
        "urlopen()",
        r"urlopen\(\) got an unexpected keyword argument '(?P<name>cafile|capath|cadefault)'",
        "Python 3.13 takes no {name} in urlopen()",
        "The argument was deprecated since Python 3.6; certificates come with a context.",
        (
            Edit(
                "urlopen(url, {name}=path)",
                "urlopen(url, context=ssl.create_default_context(cafile=path))",
                "A package that calls it so wants Python 3.12, or a newer release of its own.",
            ),
        ),
    ),
    FormerName(
        "Population must be",
        r"Population must be a sequence",
        "random.sample() takes no set or dictionary any more",
        "Since Python 3.11 it wants a sequence, whose order is known.",
        (Edit("random.sample(xs, k)", "random.sample(sorted(xs), k)"),),
    ),
    FormerName(
        "mutable default",
        r"mutable default <class '(?P<type>(?P<root>\w{1,60})[\w.]{0,160})'> for field "
        r"(?P<field>\w{1,80}) is not allowed",
        "Python 3.11 refuses {type} as the default of the field {field}",
        "A default that can be changed has to be made by a factory since Python 3.11. The class "
        "was written for Python 3.10 or older.",
        (
            Edit(
                "{field}: Type = Type()",
                "{field}: Type = dataclasses.field(default_factory=Type)",
            ),
        ),
        package="dataclasses",
        python="3.10",
    ),
)
