"""What libraries for pictures, plots and sound once had."""

from __future__ import annotations

from doctor.analyzers.former_names.rows import Edit, FormerName
from doctor.model.issues import Action, Option, Recipe

_OPENCV = Recipe(
    title="Put the OpenCV with the further modules in the place of the other",
    steps=(
        Action(uninstall=("opencv-python", "opencv-python-headless", "opencv-contrib-python")),
        Action(install=("opencv-contrib-python<4.12",), options=(Option.HOLD_TORCH,)),
    ),
    note="The packages share one folder. 4.11 goes with numpy 1 and 2; newer ones want numpy 2. "
    "SIFT is in the main part since 4.4, as cv2.SIFT_create(). On a server without a screen take "
    "opencv-contrib-python-headless.",
)


ROWS: tuple[FormerName, ...] = (
    FormerName(
        "getsize",
        r"'(?:FreeTypeFont|ImageFont|TransposedFont)' object has no attribute "
        r"'(?P<name>getsize|getsize_multiline|getoffset)'",
        "Pillow 10 dropped the font's {name}()",
        "A box takes its place.",
        (
            Edit(
                "width, height = font.getsize(text)",
                "left, top, right, bottom = font.getbbox(text)\n"
                "width, height = right - left, bottom - top",
                "getsize() counted from the origin of the text: where the place matters, take "
                "right and bottom themselves.",
            ),
        ),
        package="PIL",
        pins=("Pillow<10",),
        python="3.11",
    ),
    FormerName(
        "textsize",
        r"'ImageDraw' object has no attribute '(?P<name>textsize|multiline_textsize)'",
        "Pillow 10 dropped ImageDraw.{name}()",
        "A box takes its place.",
        (
            Edit(
                "width, height = draw.textsize(text, font=font)",
                "left, top, right, bottom = draw.textbbox((0, 0), text, font=font)\n"
                "width, height = right - left, bottom - top",
            ),
        ),
        package="PIL",
        pins=("Pillow<10",),
        python="3.11",
    ),
    FormerName(
        "get_cmap",
        r"module 'matplotlib\.cm' has no attribute '(?P<name>get_cmap)'",
        "This matplotlib has no cm.get_cmap()",
        "3.9.0 dropped it, 3.9.1 brought it back, and 3.11 dropped it for good. The maps of "
        "colours stand in a registry since 3.5.",
        (Edit("cm.get_cmap(name)", "matplotlib.colormaps[name]"),),
        package="matplotlib",
        pins=("matplotlib<3.11,!=3.9.0",),
        python="3.14",
    ),
    FormerName(
        "style library",
        r"'seaborn(?P<rest>-?[\w-]{0,30})' (?:not found in the style library|is not a valid "
        r"package style)",
        "matplotlib 3.8 calls the style seaborn{rest} seaborn-v0_8{rest}",
        "The styles have the release of seaborn that they look like in their names since 3.6.",
        (Edit('plt.style.use("seaborn{rest}")', 'plt.style.use("seaborn-v0_8{rest}")'),),
        package="matplotlib",
        pins=("matplotlib<3.8",),
        python="3.12",
    ),
    FormerName(
        "tostring_rgb",
        r"has no attribute 'tostring_rgb'",
        "matplotlib 3.10 dropped tostring_rgb()",
        "The canvas gives out its buffer with four channels.",
        (
            Edit(
                "np.frombuffer(canvas.tostring_rgb(), dtype=np.uint8)",
                "np.asarray(canvas.buffer_rgba())[..., :3]",
                "The result has its shape already: take the call of reshape out. Where the canvas "
                'belongs to a window (PyCharm), write matplotlib.use("Agg") before pyplot is '
                "imported.",
            ),
        ),
        package="matplotlib",
        pins=("matplotlib<3.10",),
        python="3.13",
    ),
    FormerName(
        "gca() got an unexpected",
        r"gca\(\) got an unexpected keyword argument 'projection'",
        "matplotlib 3.6 takes no projection in gca()",
        "The axes are made by another call.",
        (
            Edit(
                'fig.gca(projection="3d")',
                'fig.add_subplot(projection="3d")',
            ),
        ),
        package="matplotlib",
    ),
    FormerName(
        "'normed'",
        r"unexpected keyword argument 'normed'|has no property 'normed'",
        "hist() takes no normed any more",
        "The argument is called density since matplotlib 2.1 and numpy 1.6.",
        (Edit("normed=True", "density=True"),),
    ),
    FormerName(
        "set_window_title",
        r"'FigureCanvas\w{1,30}' object has no attribute 'set_window_title'",
        "matplotlib 3.6 dropped canvas.set_window_title()",
        "The manager of the window has it.",
        (
            Edit(
                "fig.canvas.set_window_title(text)",
                "fig.canvas.manager.set_window_title(text)",
            ),
        ),
        package="matplotlib",
    ),
    FormerName(
        "cv2",
        r"module 'cv2(?:\.cv2)?' has no attribute '(?P<name>xfeatures2d|face|ximgproc|bgsegm|aruco"
        r"|saliency|dnn_superres|optflow|tracking|legacy|xphoto|TrackerCSRT_create"
        r"|TrackerKCF_create|MultiTracker_create)'",
        "This OpenCV has no {name}: it is one of the further modules",
        "They come with opencv-contrib-python alone.",
        package="cv2",
        recipes=(_OPENCV,),
    ),
    FormerName(
        "not enough values to unpack",
        r"not enough values to unpack \(expected 3, got 2\)",
        "cv2.findContours() gives two values since OpenCV 4, where OpenCV 3 gave three",
        "The picture in front is no longer given out.",
        (
            Edit(
                "_, contours, hierarchy = cv2.findContours(...)",
                "contours, hierarchy = cv2.findContours(...)",
            ),
        ),
        near=r"findContours",
    ),
    FormerName(
        "Can't parse '",
        r"Can't parse '(?P<name>\w{1,20})'\. (?:Sequence item with index \d|Input argument)",
        "OpenCV wants whole numbers in {name}",
        "Numbers with a fraction, and those of numpy or torch, were once rounded, and are refused "
        "since OpenCV 4.5.",
        (
            Edit(
                "cv2.rectangle(picture, (x1, y1), (x2, y2), colour)",
                "cv2.rectangle(picture, (int(x1), int(y1)), (int(x2), int(y2)), colour)",
            ),
        ),
    ),
    FormerName(
        "invalid index to scalar",
        r"invalid index to scalar variable",
        "OpenCV gives plain numbers here, where it gave lists of one number before 4.5.4",
        "getUnconnectedOutLayers() gives an array with one dimension since.",
        (
            Edit(
                "[names[i[0] - 1] for i in net.getUnconnectedOutLayers()]",
                "[names[i - 1] for i in net.getUnconnectedOutLayers().flatten()]",
            ),
        ),
        near=r"getUnconnectedOutLayers|\[\s?\w{1,30}\[i?\[?0\]? ?- ?1\]",
    ),
    FormerName(
        "skimage.measure",
        r"cannot import name '(?P<name>compare_ssim|compare_psnr|compare_mse|compare_nrmse)' from "
        r"'skimage\.measure|module 'skimage\.measure' has no attribute '(?P<name2>compare_\w{3,5})'"
        r"|No module named 'skimage\.measure\.simple_metrics'",
        "scikit-image 0.18 moved the functions that compare pictures to skimage.metrics",
        "They have longer names there.",
        (
            Edit(
                "from skimage.measure import compare_ssim, compare_psnr, compare_mse",
                "from skimage.metrics import structural_similarity as compare_ssim\n"
                "from skimage.metrics import peak_signal_noise_ratio as compare_psnr\n"
                "from skimage.metrics import mean_squared_error as compare_mse",
                "multichannel=True is channel_axis=-1 now.",
            ),
        ),
        package="skimage",
        pins=("scikit-image<0.18",),
        python="3.8",
    ),
    FormerName(
        "multichannel",
        r"unexpected keyword argument 'multichannel'",
        "scikit-image takes no multichannel any more",
        "It asks for the axis of the channels since 0.19, and dropped the old argument later.",
        (Edit("multichannel=True", "channel_axis=-1"),),
        package="skimage",
        pins=("scikit-image<0.20", "numpy<2"),
        python="3.10",
    ),
    FormerName(
        "() takes",
        r"\b(?P<name>mel|resample|stft|istft|time_stretch|pitch_shift|melspectrogram|mfcc|load)"
        r"\(\) takes (?:from )?\d (?:to \d )?positional arguments? but \d",
        "librosa 0.10 wants the arguments of {name}() by their names",
        "They could be given by their order before.",
        (
            Edit(
                "librosa.filters.mel(sr, n_fft, n_mels, fmin, fmax)",
                "librosa.filters.mel(sr=sr, n_fft=n_fft, n_mels=n_mels, fmin=fmin, fmax=fmax)",
                "resample takes orig_sr= and target_sr=, stft n_fft= and hop_length=, "
                "time_stretch rate=, pitch_shift sr= and n_steps=.",
            ),
        ),
        package="librosa",
        pins=("librosa<0.10", "numpy<1.24", "setuptools<81"),
        python="3.10",
        near=r"librosa|\bmel\(|mel_basis|hop_length|n_fft",
    ),
    FormerName(
        "librosa",
        r"module 'librosa' has no attribute 'output'|No module named 'librosa\.output'",
        "librosa 0.8 dropped librosa.output",
        "Files are written by soundfile, which is installed with librosa.",
        (
            Edit(
                "librosa.output.write_wav(path, y, sr)",
                "soundfile.write(path, y, sr)",
                "import soundfile at the top of the file.",
            ),
        ),
        package="librosa",
        pins=("librosa<0.8", "numba<0.50", "numpy<1.20"),
        python="3.8",
    ),
)
