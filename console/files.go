package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

var fileTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// serveFile answers with a file of the page. Browsers keep it and ask whether it has changed.
func (c *Console) serveFile(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	content, err := staticFiles.ReadFile("static/" + name)
	if err != nil {
		answerText(w, http.StatusNotFound, "There is no such file.")
		return
	}
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Content-Type", fileTypes[path.Ext(name)])
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Etag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(content)
}
