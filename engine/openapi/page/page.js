"use strict";

// The token is kept in the page alone: nothing is stored in the browser.
SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#documentation",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  // A document of another origin, which a link could name, is not loaded.
  queryConfigEnabled: false,
});
