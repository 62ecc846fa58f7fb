import { createRequire } from 'node:module'

/** The packages that hold the binary, by platform and processor as Node.js names them. */
const PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'win32-x64': '@foundry-rs/anvil-win32-amd64',
}

/** The path of the chain's program, or the reason why there is none. */
export type Anvil =
  | { readonly binary: string; readonly missing: undefined }
  | { readonly binary: undefined; readonly missing: string }

/**
 * Looks for anvil in the npm package of this platform, past the wrapper that would start it: that one is a process
 * of its own, which does not pass signals on, and needs an install script.
 *
 * @example findAnvil().binary === '/app/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil'
 */
export function findAnvil(): Anvil {
  const { platform, arch: processor } = process
  const name = PACKAGES[`${platform}-${processor}`]
  if (name === undefined) {
    return { binary: undefined, missing: `there is no anvil for ${platform} on ${processor}` }
  }
  const binary = `${name}/bin/anvil${platform === 'win32' ? '.exe' : ''}`
  try {
    return { binary: createRequire(import.meta.url).resolve(binary), missing: undefined }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    return { binary: undefined, missing: `the package ${name} is not installed` }
  }
}
