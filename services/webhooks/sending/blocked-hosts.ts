import { isIP } from 'node:net'

/** Whether nothing is sent to a name or an address: it is in the list itself, or a name above it. */
export function createBlockList(hosts: readonly string[]): (host: string) => boolean {
  const blocked = new Set(hosts)
  return (host) => {
    if (blocked.size === 0 || isIP(host) !== 0) return blocked.has(host)
    return host.split('.').some((_, at, names) => blocked.has(names.slice(at).join('.')))
  }
}
