import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const PROGRAM = '@modelcontextprotocol/inspector/clients/launcher/build/index.js'

/** The inspector's program; undefined where the package is not installed. */
export function findInspector(): string | undefined {
  const paths = createRequire(import.meta.url).resolve.paths('@modelcontextprotocol/inspector') ?? []
  return paths.map((path) => join(path, PROGRAM)).find((file) => existsSync(file))
}
