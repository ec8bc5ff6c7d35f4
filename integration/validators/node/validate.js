// Validates an OpenAPI document with the official schema of its version, and prints the
// version.
import { Validator } from "@seriousme/openapi-schema-validator";

const validator = new Validator();
const result = await validator.validate(process.argv[2]);
if (!result.valid) {
  console.error(JSON.stringify(result.errors, null, 1));
  process.exit(1);
}
console.log(validator.version);
