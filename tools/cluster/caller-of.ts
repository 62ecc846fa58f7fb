import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * The process on this machine, among some, that holds the near end of a connection; undefined where none of them does.
 * Linux only.
 *
 * @param near port of that end @param far port that it is connected to
 */
export function callerOf(
  { near, far }: { readonly near: number; readonly far: number },
  pids: readonly number[],
): number | undefined {
  const inode = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .find(([, local = '', remote = '']) => portOf(local) === near && portOf(remote) === far)?.[9]
  return pids.find((pid) => inode !== undefined && socketsOf(pid).has(`socket:[${inode}]`))
}

const portOf = (address: string): number => Number.parseInt(address.split(':').at(-1) ?? '', 16)

function socketsOf(pid: number): ReadonlySet<string> {
  const folder = `/proc/${pid}/fd`
  try {
    return new Set(readdirSync(folder).map((name) => linkOf(`${folder}/${name}`)))
  } catch {
    // It has ended.
    return new Set()
  }
}

/** Files are closed while they are looked at. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
