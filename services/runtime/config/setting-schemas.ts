import { z } from 'zod'
import { instantParameter } from '../../../contracts/answers/parameters.ts'
import { parseUsdc, USDC_TEXT } from '../../../contracts/domain/chain.ts'
import { type Exchange, isExchange } from '../../../contracts/domain/series.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { parseHost } from '../http/parse-host.ts'

export const listOf = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item).min(1).max(500))

/** A name or an address, as addresses of webhooks have it. */
export const hostSetting = z.string().transform((text, context) => {
  const host = parseHost(text)
  if (host !== undefined) return host
  context.addIssue({ code: 'custom', message: 'must be a name as bot.example.com, or an address' })
  return z.NEVER
})

/** A file or a folder. Only a shell knows what ~ stands for, and none reads a file of settings. */
export const path = z
  .string()
  .min(1)
  .refine((text) => !text.startsWith('~'), { message: 'must be written out: ~ is read by shells alone' })

/** Digits as people write them: no blanks, signs or exponents. */
export const decimal = (pattern: RegExp) =>
  z.string().regex(pattern, { error: 'must be a number' }).transform(Number)

/** A list, or `all`, which leaves it to the market. */
export const listOrAll = <Item extends z.ZodType<unknown, string>>(item: Item) =>
  z.union([z.literal('all').transform(() => undefined), listOf(item)]).optional()

export const instant = instantParameter.transform((text) => Date.parse(text)).optional()

export const url = (protocols: readonly string[], characters = 2_048) =>
  z
    .string()
    .max(characters)
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      message: `must be a URL with ${protocols.join(' or ')}`,
    })
    .optional()

/** `esdb://name:password@a:2113,b:2113?key=value`, by any name of the scheme that the maker documents; several hosts make no URL. */
const EVENTSTORE =
  /^(?:esdb|kurrentdb|kurrent|kdb)(?:\+discover)?:\/\/(?:[^:@/\s]+:[^@\s]*@)?[^@?,/\s]+(?:,[^@?,/\s]+)*\/?(?:\?\S*)?$/

export const eventStoreUrl = z
  .string()
  .max(2_048)
  .regex(EVENTSTORE, {
    error:
      'must be esdb://host:2113, esdb://host,host,host for the nodes of a cluster, or esdb+discover://name for one name of them all; kurrentdb: stands for esdb:',
  })
  .optional()

export const venueUrls = z
  .string()
  .transform((text, context) => {
    const urls: Partial<Record<Exchange, string>> = {}
    for (const part of text.split(',')) {
      const [, exchange = '', address = ''] = /^\s*([A-Z]+)=(\S+)\s*$/.exec(part) ?? []
      if (!isExchange(exchange) || !/^https?:/.test(address) || !URL.canParse(address)) {
        context.addIssue('must be EXCHANGE=URL, separated by commas')
        return z.NEVER
      }
      const { username, password, search, hash } = new URL(address)
      if (`${username}${password}${search}${hash}` !== '') {
        context.addIssue(
          `must hold no user, no password, no ? and no #: see ${exchange}. A key may stand in the path`,
        )
        return z.NEVER
      }
      urls[exchange] = address
    }
    return urls
  })
  .optional()

export const requestsPerSecond = (fallback: number) =>
  z
    .union([
      z.literal('off').transform(() => undefined),
      decimal(/^\d{1,7}$/).pipe(z.number().min(1).max(LIMITS.ratePerSecond)),
    ])
    .prefault(`${fallback}`)

/** An amount of USDC, as people write it, in millionths. */
export const usdc = (fallback: string) =>
  z.string().regex(USDC_TEXT, { error: 'must be an amount of USDC' }).prefault(fallback).transform(parseUsdc)

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

/** Which proxies are believed: so many hops, or those in these networks; undefined for none. */
export const trustProxy = z
  .string()
  .transform((text, context) => {
    if (text === 'off') return undefined
    const hops = /^\d{1,2}$/.test(text) ? Number(text) : undefined
    if (hops !== undefined && hops >= 1 && hops <= LIMITS.proxyHops) return { hops }
    const networks = text.split(',').map((part) => part.trim())
    if (networks.length <= LIMITS.proxyNetworks && networks.every((one) => network.safeParse(one).success)) {
      return { networks }
    }
    context.addIssue(`must be off, 1 to ${LIMITS.proxyHops} hops, or networks separated by commas`)
    return z.NEVER
  })
  .optional()

/** @returns off unless it is given */
export const onOrOff = () =>
  z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true')
