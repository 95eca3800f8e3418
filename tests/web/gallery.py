"""Figures of every kind, as programs that leave one figure called `fig`."""

LINES = """
fig, ax = plt.subplots()
x = np.linspace(0, 10, 200)
for k in range(4):
    ax.plot(x, np.sin(x + k), label=f'line {k}')
ax.legend(); ax.grid()
"""

#: As many flat colours as asked for, side by side.
COLOURS = """
fig = plt.figure(figsize=(4, 2))
n = {}
steps = np.arange(n, dtype='uint32')
image = np.stack([steps % 256, steps // 256, 255 - steps % 256], -1)
fig.figimage(np.repeat(image[None].astype('uint8'), 300, axis=0))
"""

GALLERY = {
    "lines": LINES,
    "alpha": "fig, ax = plt.subplots()\n"
             "rng = np.random.default_rng(1)\n"
             "ax.scatter(*rng.random((2, 500)), c=rng.random(500),"
             " s=200 * rng.random(500), alpha=.5)",
    "transparent_figure": LINES + "fig.patch.set_alpha(0)",
    "half_transparent": LINES + "fig.patch.set_alpha(.5)\n"
                                "ax.patch.set_alpha(.3)",
    "greyscale": "fig, ax = plt.subplots()\n"
                 "ax.imshow(np.arange(400).reshape(20, 20), cmap='gray')",
    "dark": "plt.style.use('dark_background')" + LINES,
    "blank": "fig = plt.figure()",
    "one_pixel": "fig = plt.figure(figsize=(.01, .01))",
    "one_row": "fig = plt.figure(figsize=(5, .01))",
    "one_column": "fig = plt.figure(figsize=(.01, 5))",
    "huge": "fig, ax = plt.subplots(figsize=(30, 20))\n"
            "ax.plot(np.random.default_rng(2).normal(size=10000).cumsum())",
    "image": "fig, ax = plt.subplots()\n"
             "ax.imshow(np.random.default_rng(3).random((64, 64)))",
    "smooth_image": "fig, ax = plt.subplots()\n"
                    "y, x = np.mgrid[-3:3:300j, -3:3:300j]\n"
                    "fig.colorbar(ax.imshow(np.sin(x * y) + x,"
                    " interpolation='bilinear'))",
    "noise": "fig = plt.figure()\n"
             "fig.figimage(np.random.default_rng(4)"
             ".integers(0, 255, (700, 900, 3)).astype('uint8'))",
    "photograph": "fig = plt.figure()\n"
                  "y, x = np.mgrid[0:1:480j, 0:1:640j]\n"
                  "im = np.stack([x, y, (x + y) / 2], -1)\n"
                  "im += np.random.default_rng(5).normal(0, .02, im.shape)\n"
                  "fig.add_axes([0, 0, 1, 1]).imshow(im.clip(0, 1))",
    "gradient": "fig = plt.figure()\n"
                "fig.add_axes([0, 0, 1, 1]).imshow("
                "np.linspace(0, 1, 1000)[None], aspect='auto', cmap='jet')",
    "contour": "fig, ax = plt.subplots()\n"
               "y, x = np.mgrid[-3:3:100j, -3:3:100j]\n"
               "ax.contourf(x, y, np.sin(x * y), 50)",
    "surface_3d": "fig = plt.figure()\n"
                  "ax = fig.add_subplot(projection='3d')\n"
                  "y, x = np.mgrid[-3:3:40j, -3:3:40j]\n"
                  "ax.plot_surface(x, y, np.sin(x * y), cmap='viridis')",
    "polar": "fig, ax = plt.subplots(subplot_kw={'projection': 'polar'})\n"
             "ax.plot(np.linspace(0, 20, 300), np.linspace(0, 1, 300))",
    "cjk_text": LINES + "ax.set_title('\\u80a1\\u4ef7 \\uc8fc\\uac00 "
                        "\\u682a\\u4fa1'); ax.set_xlabel('$x^2$ \\u4ef7')",
    "bars": "fig, ax = plt.subplots()\n"
            "ax.bar(range(10), range(10), color=plt.cm.tab10(range(10)))",
    "four_histograms": "fig, axes = plt.subplots(2, 2)\n"
                       "rng = np.random.default_rng(6)\n"
                       "for ax in axes.flat: ax.hist(rng.normal(size=999), 50)",
    "pie": "fig, ax = plt.subplots()\n"
           "ax.pie([1, 2, 3, 4], labels=list('abcd'), shadow=True)",
    "heatmap": "fig, ax = plt.subplots()\n"
               "sns.heatmap(np.random.default_rng(7).random((12, 12)),"
               " annot=True, ax=ax)",
    "dates": "fig, ax = plt.subplots()\n"
             "ax.plot(pd.date_range('2024-01-01', periods=99), range(99))\n"
             "fig.autofmt_xdate()",
    "constrained": "fig, axes = plt.subplots(3, 3, layout='constrained')\n"
                   "for ax in axes.flat: ax.set_title('title')",
    "legend_outside": LINES + "ax.legend(loc='upper left',"
                              " bbox_to_anchor=(1, 1))",
    "xkcd": "with plt.xkcd():\n"
            "    fig, ax = plt.subplots(); ax.plot([1, 3, 2])",
    "colours_2": COLOURS.format(2), "colours_16": COLOURS.format(16),
    "colours_17": COLOURS.format(17), "colours_256": COLOURS.format(255),
    "colours_257": COLOURS.format(257),
    "table": "fig, ax = plt.subplots(); ax.axis('off')\n"
             "ax.table(cellText=[['a', 'b'], ['c', 'd']], loc='center')",
}
