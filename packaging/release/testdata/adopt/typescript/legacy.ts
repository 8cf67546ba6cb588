import { setDefaultValue } from "mongodb-memory-server-core/lib/util/resolveConfig";

export { setDefaultValue };
