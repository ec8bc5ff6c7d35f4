package command

import (
	"encoding/json"
	"net/http"
	"os"

	"marquee/engine/folder"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/transfer"
)

// maxImported bounds the text of a chunk, which an import bounds by itself.
const maxImported = 512 << 20

// importRoutes are the routes through which an import writes to a server.
func importRoutes(files map[string]transfer.Files) []rest.Route {
	serve := func(r *rest.Call) error {
		if r.Request().Method == http.MethodGet {
			return prepareImport(r)
		}
		return importChunk(r, files)
	}
	return []rest.Route{
		{Path: "/operator/import", Methods: []string{http.MethodGet, http.MethodPost}, Operator: true, Deadline: transfer.WriteTime, Serve: serve},
		{Path: "/operator/import/stored", Methods: []string{http.MethodPost}, Operator: true, Serve: importStored},
	}
}

// folderOf opens the folder with the files of an import, which is on this machine. It is nil
// for none.
func folderOf(r *rest.Call) (*os.Root, error) {
	path, given := r.Parameters()["files"]
	if !given {
		return nil, nil
	}
	opened, err := os.OpenRoot(path)
	if err != nil {
		return nil, message.FolderUnreadable.Error(message.Params{"folder": path}).Caused(err)
	}
	return opened, nil
}

// prepareImport returns the set of schemas that is served, unless the folder with the files
// of the import cannot be read.
func prepareImport(r *rest.Call) error {
	opened, err := folderOf(r)
	if err != nil {
		return err
	}
	if opened != nil {
		opened.Close()
	}
	set := servedSet{Digest: r.Engine().Registry().Digest()}
	if set.Files, _, err = folder.Packed(r.Context(), r.Engine().Store, 0); err != nil {
		return err
	}
	return r.AnswerJSON(set)
}

// importChunk writes a chunk.
func importChunk(r *rest.Call, files map[string]transfer.Files) error {
	if err := r.Parameters().Only("fieldValidation", "files"); err != nil {
		return err
	}
	validation, err := r.Parameters().FieldValidation()
	if err != nil {
		return err
	}
	opened, err := folderOf(r)
	if err != nil {
		return err
	}
	if opened != nil {
		defer opened.Close()
	}
	body, err := r.Body(maxImported)
	if err != nil {
		return err
	}
	chunk, err := transfer.DecodeChunk(body)
	if err != nil {
		return err
	}
	chunk.FieldValidation = validation
	written, err := transfer.Local{Engine: r.Engine(), Files: files, Folder: opened}.Write(r.Sharing(), chunk)
	if err != nil {
		return err
	}
	return r.AnswerJSON(written)
}

// importStored returns which objects of a list are stored.
func importStored(r *rest.Call) error {
	body, err := r.Body(maxImported)
	if err != nil {
		return err
	}
	var objects []transfer.ObjectID
	if err := json.Unmarshal(body, &objects); err != nil {
		return message.BodyNotObjects.Error(nil).Caused(err)
	}
	found, err := transfer.Local{Engine: r.Engine()}.Stored(r.Context(), objects)
	if err != nil {
		return err
	}
	return r.AnswerJSON(found)
}
