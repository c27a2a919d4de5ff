package readme

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Compile builds every block as a package of its own inside the module at dir, with that module's requirements.
// Nothing is written to dir: scratch holds the files, and an overlay of the go command places them in the module. The
// error holds the compiler's messages.
func Compile(dir, scratch string, blocks []Block) error {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	build := []string{"build", "-buildvcs=false", "-o", os.DevNull, "-overlay", filepath.Join(scratch, "overlay.json")}
	var faults []error
	for i, block := range blocks {
		source, err := block.Source()
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", block.File, block.Line, err))
			continue
		}
		folder := fmt.Sprintf("readme_block_%d", i+1)
		file := filepath.Join(scratch, folder+".go")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(dir, folder, "block.go")] = file
		build = append(build, "./"+folder)
	}
	if len(overlay.Replace) == 0 {
		return errors.Join(faults...)
	}

	list, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(scratch, "overlay.json"), list, 0o600); err != nil {
		return err
	}
	command := exec.Command("go", build...)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
	if output, err := command.CombinedOutput(); err != nil {
		faults = append(faults, fmt.Errorf("%w\n%s", err, output))
	}
	return errors.Join(faults...)
}
