import { lookup, Resolver } from 'node:dns/promises'

/** One answer of the domain name system. */
export interface NameAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** All addresses of a name; empty where it has none. Rejects where that cannot be told at the moment. */
export type ResolveName = (hostname: string) => Promise<readonly NameAddress[]>

/** For each try; both record types are asked for at once. */
const TRY_MS = 1_500
const TRIES = 2

/** Answers of servers for a name, or a type of record, that does not exist. */
const ABSENT: readonly unknown[] = ['ENOTFOUND', 'ENODATA']

/**
 * Asks the servers of this machine for exactly this name: without its hosts file and its search list, which name
 * what is inside, and without the threads of the process, which names that never answer would hold up for all.
 *
 * @param servers other ones, as `127.0.0.1:53`
 * @example (await createDnsResolver()('example.com')).map(({ address }) => address)
 */
export function createDnsResolver({ servers }: { servers?: readonly string[] } = {}): ResolveName {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    const addresses = [...familyOf(ipv4, 4), ...familyOf(ipv6, 6)]
    // A name with some address can be used, though it is not known whether it has others.
    const failed = [ipv4, ipv6].find((found) => found.status === 'rejected' && !isAbsence(found.reason))
    if (addresses.length === 0 && failed?.status === 'rejected') throw failed.reason
    return addresses
  }
}

/** As every program of this machine resolves names, its hosts file included: for local trials. */
export const resolveAsSystem: ResolveName = async (hostname) => {
  const found = await lookup(hostname, { all: true, verbatim: true })
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

const familyOf = (answer: PromiseSettledResult<string[]>, family: 4 | 6): NameAddress[] =>
  answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []

const isAbsence = (reason: unknown): boolean =>
  reason instanceof Error && 'code' in reason && ABSENT.includes(reason.code)
