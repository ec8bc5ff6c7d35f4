package service

import "marquee/engine"

// Hold runs a write of the service itself whose transaction has read what it relies on,
// and waits. Release lets it go on, and returns when it is committed.
func (c *Conversation) Hold(s *Service, name string, objects ...map[string]any) (release func()) {
	c.Helper()
	t, err := s.Engine.Type(name)
	if err != nil {
		c.Fatal(err)
	}
	begun, proceed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	first := true
	batch := engine.Batch{Network: "main"}
	for _, object := range objects {
		batch.Operations = append(batch.Operations, engine.Operation{Type: t, Object: object})
	}
	batch.Operations[0].IfVersion = func(string) bool {
		if first {
			first = false
			close(begun)
			<-proceed
		}
		return true
	}
	go func() {
		_, err := s.Engine.Write(c.Context(), &engine.Caller{System: true}, batch)
		done <- err
	}()
	select {
	case <-begun:
	case err := <-done:
		c.Fatal("the write has ended: ", err)
	}
	return func() {
		c.Helper()
		close(proceed)
		if err := <-done; err != nil {
			c.Error(err)
		}
	}
}
