import urllib.request

urllib.request.urlopen("http://localhost:9/weights.pth")


def test_never_seen():
    pass
