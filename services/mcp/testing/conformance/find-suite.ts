import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The program of the official conformance suite; undefined where the package is not installed. */
export function findSuite(): string | undefined {
  const paths = createRequire(import.meta.url).resolve.paths('@modelcontextprotocol/conformance') ?? []
  return paths
    .map((path) => join(path, '@modelcontextprotocol/conformance/dist/index.js'))
    .find((file) => existsSync(file))
}
