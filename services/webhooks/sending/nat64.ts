import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { ResolveName } from './resolve-name.ts'

/** A name that has these addresses of IPv4 alone: one of IPv6 was made by DNS64 of this network (RFC 7050). */
const IPV4_ONLY = 'ipv4only.arpa'
const IPV4_ONLY_ADDRESSES: readonly string[] = ['192.0.0.170', '192.0.0.171']

/** The bytes of the embedded address, by the length of the prefix in bytes (RFC 6052 §2.2). */
const PLACES: ReadonlyMap<number, readonly number[]> = new Map([
  [12, [12, 13, 14, 15]],
  [8, [9, 10, 11, 12]],
  [7, [7, 9, 10, 11]],
  [6, [6, 7, 9, 10]],
  [5, [5, 6, 7, 9]],
  [4, [4, 5, 6, 7]],
])
const WELL_KNOWN = ipaddr.parse('64:ff9b::').toByteArray().slice(0, 12)

/** Knows the prefixes by which this network reaches addresses of IPv4 through IPv6: the well-known one and its own. */
export function createNat64(resolve: ResolveName) {
  let prefixes: readonly number[][] = [WELL_KNOWN]
  let learning: Promise<void> | undefined

  async function ask(): Promise<void> {
    const found = await resolve(IPV4_ONLY)
    const own = found.filter(({ address }) => isIPv6(address)).flatMap(({ address }) => prefixOf(address))
    prefixes = [WELL_KNOWN, ...own]
  }

  return {
    /** Asks for the network's own prefix; once, unless that fails: the next address asks again. */
    async learn(): Promise<void> {
      learning ??= ask().catch(() => {
        learning = undefined
      })
      await learning
    },
    /** The address of IPv4 that is embedded in one of IPv6; any other address as it is. */
    unwrap(address: string): string {
      const bytes = bytesOf(address)
      const prefix = prefixes.find((one) => one.every((byte, place) => bytes[place] === byte))
      return prefix === undefined ? address : embeddedIn(bytes, prefix.length)
    },
  }
}

const bytesOf = (address: string): number[] =>
  isIPv6(address) && !address.includes('%') ? ipaddr.parse(address).toByteArray() : []

const embeddedIn = (bytes: readonly number[], prefixBytes: number): string =>
  (PLACES.get(prefixBytes) ?? []).map((place) => bytes[place]).join('.')

/** @returns a list of one prefix, or none where no known address is embedded */
function prefixOf(address: string): number[][] {
  const bytes = bytesOf(address)
  const length = [...PLACES.keys()].find((each) => IPV4_ONLY_ADDRESSES.includes(embeddedIn(bytes, each)))
  return length === undefined ? [] : [bytes.slice(0, length)]
}
