"""How Sphinx builds the site from this folder: `make docs`.

The pages are plain Markdown that also reads well in the repository. The built site loads
nothing from other hosts, and every broken link fails the build.
"""

project = "Leverframe"
html_title = "Leverframe"
author = copyright = "the contributors of Leverframe"

extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_static_path = ["static"]
html_logo = html_favicon = "../src/leverframe/web/icon.svg"
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}

# Copied commands come without the prompt and the output.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
# Headings are link targets by the names that GitHub gives them.
myst_heading_anchors = 4
myst_links_external_new_tab = False
# Every broken reference is a warning, and `make docs` fails on warnings.
nitpicky = True
# Colours only: the lexer for nginx does not know every form that nginx accepts.
suppress_warnings = ["misc.highlighting_failure"]
