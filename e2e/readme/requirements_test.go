package readme_test

// The root README shows packages that no other test of this module may use. They stand here so that go.mod requires
// them.
import (
	_ "github.com/go-chi/chi/v5"
)
