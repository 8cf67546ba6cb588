/** A plugin for vitest.config: one server for all test files, a database of its own for each. */
export default function cantle(): { name: string; config(): object };

declare module "vitest" {
  export interface ProvidedContext {
    MONGO_URI: string;
  }
}
