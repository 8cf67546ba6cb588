/** A global setup: starts the server, provides MONGO_URI, and returns what stops it. */
export default function setup(project: { provide(key: "MONGO_URI", value: string): void }): Promise<() => Promise<void>>;

declare module "vitest" {
  export interface ProvidedContext {
    MONGO_URI: string;
  }
}
