"""What a person sees at `/` who opens the controller in a browser."""

from leverframe.servers.messages import Reply

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Leverframe</title></head>
<body>
<h1>Leverframe</h1>
<p>This controller takes commands by HTTP, for example
<code>/outs.cgi?out0=1</code> to switch OUT0 on.</p>
<ul>
<li><a href="/api/state">State</a>, every reading and output</li>
<li><a href="/api/settings">Settings</a></li>
<li><a href="/api/log">Log</a>, what happened and why</li>
<li><a href="/api/commands">Commands</a> of this version, as
<a href="/api/openapi.json">OpenAPI</a> too</li>
<li><a href="/json/status.json">status.json</a>, as clients of these controllers read it</li>
<li><a href="/health">Health</a></li>
</ul>
</body>
</html>
"""

FRONT_PAGE = Reply(200, "text/html", _PAGE.encode())
