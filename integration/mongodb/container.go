package mongodb

func startContainer() (*sharedServer, error) { return nil, errNone }
