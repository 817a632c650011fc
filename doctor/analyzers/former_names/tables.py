"""What libraries for numbers, tables, graphs and texts once had."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.analyzers.recipes import command
from doctor.model.issues import Action, Option, Recipe

_PANDAS = ("pandas<2", "numpy<2")
"""pandas 1 was compiled for numpy 1, and does not say so in its requirements."""
_TO_1 = ("pandas>=0.25,<1", "numpy<1.24")
_OLD_SKLEARN = ("scikit-learn>=0.22,<0.23", "numpy<1.24")
_OLD_GENSIM = ("gensim>=3.8,<4",)
_RELEASES = {
    "2": (_PANDAS, "3.11"),
    "1": (_TO_1, "3.8"),
    "3": (("pandas<3",), "3.14"),
    "0.20": ((), ""),
}
"""The releases before one that dropped a name, and the newest Python with wheels of them."""
_FRAME = r"'(?P<kind>DataFrame|Series)' object has no attribute '"


def _pandas(old: str, since: str, before: str, after: str, note: str = "") -> FormerName:
    return FormerName(
        "object has no attribute",
        _FRAME + rf"(?P<name>{old})'",
        f"pandas {since} dropped {{kind}}.{{name}}",
        "It was deprecated for years; another method does the same.",
        (Edit(before, after, note),),
        package="pandas",
        pins=_RELEASES[since][0],
        python=_RELEASES[since][1],
    )


def _sklearn(old: str, since: str, before: str, after: str, note: str = "") -> FormerName:
    module, _, name = old.rpartition(".")
    escaped = old.replace(".", r"\.")
    pattern = rf"No module named '{escaped}(?:\.\w{{1,40}})?'"
    if name:
        pattern += rf"|cannot import name '{name}' from 'sklearn\.{module.partition('.')[2]}"
    return FormerName(
        "sklearn",
        pattern,
        f"scikit-learn {since} dropped {old}",
        "What it held lies elsewhere now.",
        (Edit(before, after, note),),
        package="sklearn",
    )


ROWS: tuple[FormerName, ...] = (
    _pandas(
        "append",
        "2",
        "df = df.append(other, ignore_index=True)",
        "df = pd.concat([df, other], ignore_index=True)",
        "A row that is a dictionary becomes pd.DataFrame([row]) first.",
    ),
    _pandas("iteritems", "2", "df.iteritems()", "df.items()"),
    _pandas("mad", "2", "s.mad()", "(s - s.mean()).abs().mean()"),
    _pandas(
        "lookup",
        "2",
        "df.lookup(rows, columns)",
        "df.to_numpy()[df.index.get_indexer(rows), df.columns.get_indexer(columns)]",
    ),
    _pandas("ix", "1", "df.ix[row, column]", "df.loc[row, column]", "By number: df.iloc."),
    _pandas("as_matrix", "1", "df.as_matrix()", "df.to_numpy()"),
    _pandas("get_value", "1", "df.get_value(row, column)", "df.at[row, column]"),
    _pandas("set_value", "1", "df.set_value(row, column, x)", "df.at[row, column] = x"),
    _pandas("sort", "0.20", 'df.sort("a")', 'df.sort_values("a")'),
    _pandas("applymap", "3", "df.applymap(f)", "df.map(f)"),
    *(
        FormerName(
            "module 'pandas' has no",
            rf"module 'pandas' has no attribute '(?P<name>{old})'",
            "pandas 2 no longer passes on {name}",
            "Up to 1.5 pandas handed out names of other modules.",
            (Edit(f"pd.{old}", new, f"{line} stands at the top of the file."),),
            package="pandas",
            pins=_PANDAS,
            python="3.11",
        )
        for old, new, line in (
            ("np", "np", "import numpy as np"),
            ("datetime", "datetime", "from datetime import datetime"),
        )
    ),
    FormerName(
        "module 'pandas' has no",
        r"module 'pandas' has no attribute 'rolling_(?P<name>mean|std|sum|max|min|median)'",
        "pandas 0.23 dropped rolling_{name}()",
        "A method of the series does the same since 0.18.",
        (Edit("pd.rolling_{name}(series, n)", "series.rolling(n).{name}()"),),
        package="pandas",
    ),
    FormerName(
        "error_bad_lines",
        r"unexpected keyword argument '(?P<name>error_bad_lines|warn_bad_lines)'",
        "pandas 2 takes no {name} in read_csv()",
        "The argument has another name since pandas 1.3.",
        (Edit("pd.read_csv(path, {name}=False)", 'pd.read_csv(path, on_bad_lines="skip")'),),
        package="pandas",
        pins=_PANDAS,
        python="3.11",
    ),
    FormerName(
        "line_terminator",
        r"unexpected keyword argument 'line_terminator'",
        "pandas 2 takes no line_terminator in to_csv()",
        "The argument is called lineterminator since pandas 1.5.",
        (Edit("df.to_csv(path, line_terminator=x)", "df.to_csv(path, lineterminator=x)"),),
        package="pandas",
        pins=_PANDAS,
        python="3.11",
    ),
    FormerName(
        "'Graph' object has no",
        r"'(?:Di|Multi|MultiDi)?Graph' object has no attribute '(?P<name>node|edge|nodes_iter"
        r"|edges_iter|neighbors_iter)'",
        "networkx dropped Graph.{name}",
        "Graphs have views of their nodes and edges since networkx 2.",
        (Edit("graph.node[n]", "graph.nodes[n]", "edge became edges, nodes_iter() nodes()."),),
        package="networkx",
        pins=("networkx>=2,<2.4",),
        python="3.8",
    ),
    FormerName(
        "networkx",
        r"module 'networkx' has no attribute '(?P<name>from_numpy_matrix|to_numpy_matrix)'",
        "networkx 3 dropped {name}",
        "It works with arrays since, and no longer with numpy.matrix.",
        (
            Edit("nx.from_numpy_matrix(a)", "nx.from_numpy_array(a)"),
            Edit("nx.to_numpy_matrix(g)", "np.asmatrix(nx.to_numpy_array(g))"),
        ),
        package="networkx",
        pins=("networkx<3",),
        python="3.11",
    ),
    FormerName(
        "networkx",
        r"module 'networkx' has no attribute '(?P<name>write_gpickle|read_gpickle)'",
        "networkx 3 dropped {name}",
        "pickle itself does the same.",
        (
            Edit(
                "nx.write_gpickle(graph, path)",
                'with open(path, "wb") as file:\n    pickle.dump(graph, file)',
                "Read with pickle.load, files of your own only.",
            ),
        ),
        package="networkx",
        pins=("networkx<3",),
        python="3.11",
    ),
    FormerName(
        "sklearn.externals",
        r"No module named 'sklearn\.externals\.(?P<name>joblib|six)'|cannot import name "
        r"'(?P<name2>joblib|six)' from 'sklearn\.externals'",
        "scikit-learn 0.23 brings no joblib and no six any more",
        "Both are packages of their own, and joblib is installed with scikit-learn.",
        (
            Edit("from sklearn.externals import joblib", "import joblib"),
            Edit("from sklearn.externals import six", "import six"),
        ),
        package="sklearn",
        pins=_OLD_SKLEARN,
        python="3.8",
    ),
    _sklearn(
        "sklearn.cross_validation",
        "0.20",
        "from sklearn.cross_validation import train_test_split",
        "from sklearn.model_selection import train_test_split",
    ),
    _sklearn(
        "sklearn.grid_search",
        "0.20",
        "from sklearn.grid_search import GridSearchCV",
        "from sklearn.model_selection import GridSearchCV",
    ),
    _sklearn(
        "sklearn.datasets.samples_generator",
        "0.24",
        "from sklearn.datasets.samples_generator import make_blobs",
        "from sklearn.datasets import make_blobs",
    ),
    _sklearn(
        "sklearn.metrics.classification",
        "0.24",
        "from sklearn.metrics.classification import f1_score",
        "from sklearn.metrics import f1_score",
    ),
    FormerName(
        "linear_assignment",
        r"No module named 'sklearn\.utils\.linear_assignment_'|cannot import name "
        r"'linear_assignment' from 'sklearn",
        "scikit-learn 0.23 dropped linear_assignment",
        "SciPy has it, with its result as two arrays.",
        (
            Edit(
                "pairs = linear_assignment(cost)",
                "pairs = np.stack(scipy.optimize.linear_sum_assignment(cost), axis=1)",
                "import scipy.optimize in the place of the old import.",
            ),
        ),
        package="sklearn",
        pins=_OLD_SKLEARN,
        python="3.8",
    ),
    FormerName(
        "Imputer",
        r"cannot import name 'Imputer' from 'sklearn\.preprocessing",
        "scikit-learn 0.22 dropped Imputer",
        "SimpleImputer took its place.",
        (
            Edit(
                "from sklearn.preprocessing import Imputer",
                "from sklearn.impute import SimpleImputer as Imputer",
            ),
        ),
        package="sklearn",
    ),
    FormerName(
        "get_feature_names",
        r"'(?P<name>\w{3,40})' object has no attribute 'get_feature_names'",
        "scikit-learn 1.2 dropped {name}.get_feature_names()",
        "The method has another name since 1.0.",
        (Edit("get_feature_names()", "get_feature_names_out()"),),
        package="sklearn",
        pins=("scikit-learn<1.2", "numpy<2"),
        python="3.11",
    ),
    FormerName(
        "'squared'",
        r"(?:mean_squared_error|mean_squared_log_error)\(\) got an unexpected keyword argument "
        r"'squared'|unexpected keyword argument 'squared'",
        "scikit-learn 1.6 takes no squared any more",
        "A function of its own gives the root.",
        (
            Edit(
                "mean_squared_error(a, b, squared=False)",
                "root_mean_squared_error(a, b)",
            ),
        ),
        package="sklearn",
        pins=("scikit-learn<1.6",),
        python="3.13",
    ),
    FormerName(
        "asscalar",
        r"module 'numpy' has no attribute 'asscalar'",
        "numpy 1.23 dropped asscalar()",
        "A method of the array does the same.",
        (Edit("np.asscalar(x)", "np.asarray(x).item()"),),
        package="numpy",
        pins=("numpy<1.23",),
        python="3.10",
    ),
    FormerName(
        "Object arrays cannot be",
        r"Object arrays cannot be loaded when allow_pickle=False",
        "numpy reads no pickled objects from a file, unless it is asked to",
        "It refuses since 1.16.3, because such a file can run any code. A file of your own may be "
        "read so.",
        (
            Edit(
                "np.load(path)",
                "np.load(path, allow_pickle=True)",
                "Only for a file whose origin you trust.",
            ),
        ),
        package="numpy",
    ),
    FormerName(
        "cannot be interpreted as",
        r"'(?P<kind>numpy\.float64|numpy\.float32|float)' object cannot be interpreted as an "
        r"integer",
        "A whole number is wanted, and a {kind} is given",
        "In Python 3 the operator / gives a number with a fraction, and numpy takes none as a size "
        "since 1.18.",
        (Edit("n / 2", "n // 2", "Or int(...) around what is handed in."),),
        package="numpy",
    ),
    FormerName(
        "slice indices must be",
        r"slice indices must be integers",
        "A slice has an end that is no whole number",
        "In Python 3 the operator / gives a number with a fraction.",
        (Edit("x[: n / 2]", "x[: n // 2]", "Or int(...) around the number."),),
    ),
    FormerName(
        "vocab attribute was removed",
        r"The vocab attribute was removed from KeyedVector",
        "gensim 4 dropped the vocabulary of word vectors",
        "Two attributes took its place.",
        (
            Edit(
                "model.wv.vocab",
                "model.wv.key_to_index",
                "index2word became index_to_key, model.wv[word] stays.",
            ),
        ),
        package="gensim",
        pins=_OLD_GENSIM,
        python="3.8",
    ),
    FormerName(
        "unexpected keyword argument",
        r"__init__\(\) got an unexpected keyword argument '(?P<name>size|iter)'",
        "gensim 4 takes no {name} any more",
        "Its arguments were renamed: size is vector_size, iter is epochs.",
        (
            Edit(
                "Word2Vec(sentences, size=100, iter=5)",
                "Word2Vec(sentences, vector_size=100, epochs=5)",
            ),
        ),
        package="gensim",
        pins=_OLD_GENSIM,
        python="3.8",
        near=r"Word2Vec|FastText|Doc2Vec|gensim",
    ),
    FormerName(
        "[E050]",
        r"\[E050\] Can't find model '(?P<name>en)'",
        "spaCy 3 knows no short name {name} for a model",
        "Models are packages, called by their full name.",
        (Edit('spacy.load("{name}")', 'spacy.load("{name}_core_web_sm")'),),
        recipes=(
            command(
                "Install the model",
                *("{python.executable}", "-m", "spacy", "download", "en_core_web_sm"),
                note="Languages other than English end in _core_news_sm.",
            ),
        ),
    ),
    FormerName(
        "list_() takes",
        r"list_\(\) takes exactly one argument \((?P<given>[23]) given\)",
        "The pyarrow that runs is too old: its list_() takes no length",
        "datasets, once called nlp, hands in a length, which pyarrow knows since 0.16. Colab and "
        "other images bring an older one, and a notebook goes on with the one that it has loaded.",
        package="pyarrow",
        recipes=(
            Recipe(
                title="Take a newer pyarrow, then restart the kernel of the notebook",
                steps=(Action(install=("pyarrow",), options=(Option.UPGRADE,)),),
                note="Where the old program nlp itself is not held to, datasets is its successor: "
                "pip install -U datasets.",
            ),
        ),
    ),
)
