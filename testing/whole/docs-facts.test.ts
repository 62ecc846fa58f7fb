import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { OAUTH_CODES } from '../../contracts/domain/oauth.ts'
import { PLAN_DAYS, PLAN_LIMITS } from '../../contracts/domain/plans.ts'
import { EXCHANGES } from '../../contracts/domain/series.ts'
import { TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { ERRORS } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { PRICES } from '../../contracts/tools/prices.ts'
import { loadModel } from '../../services/engine/index.ts'
import type { OpenApiDocument } from '../../services/http/openapi.ts'
import { serverOfEveryRoute } from '../../services/http/testing/every-route.fixture.ts'
import { readMarkdown } from '../../services/knowledge/testing/read-markdown.ts'
import { SETTINGS } from '../../services/runtime/config/settings.ts'

const DOCS = resolve(import.meta.dirname, '../../docs')

/** A section of a page, in one line. */
function section(page: string, heading: string): string {
  const text = readFileSync(join(DOCS, `${page}.md`), 'utf8')
  const [, rest = ''] = text.split(`\n## ${heading}\n`)
  return (rest.split('\n## ')[0] ?? '').replaceAll(/\s+/g, ' ')
}

const grouped = (count: number): string => count.toLocaleString('en-US')
const usdc = (micro: bigint): string => String(Number(micro) / 1_000_000)
const { free, starter, pro } = PLAN_LIMITS

describe('what the first answers for customers say in words is what the code does:', () => {
  test('prices, plans and the free allowance', () => {
    const cost = section('prices', 'How much does it cost?')
    expect(cost).toContain(
      `nothing for ${free.callsPerWindow} calls a month (at most ${free.callsPerDay} a day)`,
    )
    expect(cost).toContain(
      `${usdc(PRICES['plans/starter'])} USD for ${grouped(starter.callsPerWindow)} calls`,
    )
    expect(cost).toContain(`${usdc(PRICES['plans/pro'])} USD for ${grouped(pro.callsPerWindow)} calls`)
    expect(cost).toContain(`within ${PLAN_DAYS} days`)
    const trial = section('faq', 'Is there a free trial, and what is free?')
    expect(trial).toContain(`${free.callsPerWindow} calls a month, at most ${free.callsPerDay} a day`)
    expect(trial).toContain(`up to ${LIMITS.subscriptionsOnFree} webhook subscriptions`)
  })

  test('exchanges', () => {
    const exchanges = section('faq', 'Which exchanges do you cover?')
    expect(EXCHANGES.filter((code) => !exchanges.includes(`\`${code}\``))).toEqual([])
    expect(EXCHANGES.length - 1).toBe(14)
  })

  test('timeframes that make calls, and those that always answer HOLD', () => {
    const { timeframes } = loadModel()
    const speaking = TIMEFRAMES.filter((timeframe) => timeframes[timeframe].calls)
    const silent = TIMEFRAMES.filter((timeframe) => !timeframes[timeframe].calls)
    const listed = (some: readonly string[]): string => `${some.slice(0, -1).join(', ')} and ${some.at(-1)}`
    const hold = section('faq', 'Why does it say HOLD so often?')
    expect(hold).toContain(`calls are made at ${listed(speaking)}, while ${listed(silent)} answer HOLD`)
    const which = section('faq', 'Which timeframe should I ask for?')
    expect(which).toContain(`(${silent.join(', ')})`)
  })

  test('keys', () => {
    const keys = section('faq', 'Can several people or machines use one key?')
    expect(keys).toContain(`an account may have ${LIMITS.keysPerAccount}`)
    expect(keys).toContain(`at most ${SETTINGS.RATE_PER_KEY.example} requests a second`)
  })
})

const ROOT = resolve(DOCS, '..')
const tracked = (...patterns: readonly string[]): string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: ROOT, encoding: 'utf8' })
    .trimEnd()
    .split('\n')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Pages that say what is; decisions and the changelog say what was. */
const pages = tracked('docs/*.md', 'README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md')
  .filter((file) => !file.startsWith('docs/decisions/'))
  .map((file) => ({ file, text: read(file), ...readMarkdown(read(file)) }))

/** Words with underscores that a page names and this service does not: settings of programs of others. */
const OF_OTHERS = new Set(['force_entry_enable'])

/** Routes of programs of others that a page names. */
const ROUTES_OF_OTHERS = /^\/api\/v1\//

/** A code that a page says callers are refused with: beside its status, or in so many words. */
const REFUSED_WITH = /(?:\b[45]\d\d|refused with|the code) `([a-zA-Z][a-zA-Z_]+)`/g

/** Claims that two pages once made, each another one. The rest of the pages links to the page that makes them. */
const CLAIMS: readonly { readonly of: string; readonly page: string; readonly says: RegExp }[] = [
  {
    of: 'what is given back',
    page: 'docs/paying.md',
    says: /\b(?:nothing|no (?:money|payment)) (?:is|was) (?:paid|given|sent) back|(?:paid|given|sent) back by itself|\bnever refunded/i,
  },
  {
    of: 'cookies that are set',
    page: 'docs/privacy.md',
    says: /\bcookies? (?:is|are) (?:only |never )?set\b|\bsets? (?:a|no|one) cookies?\b/i,
  },
  {
    of: 'what a failed call costs',
    page: 'docs/prices.md',
    says: /\b(?:refusals|refused (?:calls|requests)|errors|none)\b[^.|`]{0,40}\b(?:charged|costs? nothing|counts? nothing)|cost nothing: refused/i,
  },
  {
    of: 'the order of deliveries',
    page: 'docs/webhook-receivers.md',
    says: /\bdeliver(?:y|ies|ed)\b[^.|]{0,60}\b(?:in (?:the )?(?:wrong )?order|out of order|overtake)/i,
  },
]
/** Prose of a page in one line: tables and generated descriptions make no claims of their own. */
const proseOf = (text: string): string => text.replaceAll(/^\|.*\|$/gm, '').replaceAll(/\s+/g, ' ')

describe('what pages name', () => {
  const sources = tracked(
    'services/*.[jt]s',
    'contracts/*.ts',
    'projections/*.ts',
    'tools/*.ts',
    'clients/*',
    'deploy/*',
  )
    .filter((file) => !/\.(?:test|fixture|contract)\.ts$/.test(file))
    .map(read)
  const words = new Set(sources.flatMap((text) => text.match(/[a-z][a-z0-9]*(?:_[a-z0-9]+)+/g) ?? []))
  const codes = new Set<string>([
    ...Object.keys(ERRORS),
    ...OAUTH_CODES,
    'invalid_token',
    'insufficient_scope',
  ])
  let routes: string[][]
  beforeAll(async () => {
    const app = await serverOfEveryRoute()
    const { paths } = (await app.inject('/openapi.json')).json<OpenApiDocument>()
    routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) =>
        `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, ':')}`.split('/'),
      ),
    )
    await app.close()
  })

  test.each(pages)('in $file is a word of the source: codes, fields, metrics', ({ spans }) => {
    const named = spans.flatMap(
      (span) => /^([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:[=:({].*)?$/.exec(span)?.[1] ?? [],
    )
    expect(named.filter((name) => !words.has(name) && !OF_OTHERS.has(name))).toEqual([])
  })

  test.each(pages)('as a refusal in $file is a code of the registry', ({ text }) => {
    const named = [...text.matchAll(REFUSED_WITH)].map((match) => match[1] ?? '')
    expect(named.filter((name) => !codes.has(name))).toEqual([])
  })

  test.each(pages)('as a request in $file has a route', ({ spans }) => {
    const unknown = spans.filter((span) => {
      const [, method, path = ''] = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?]*)(?:\?.*)?$/.exec(span) ?? []
      if (method === undefined || ROUTES_OF_OTHERS.test(path)) return false
      if (!/^\/(?:api|x402|log|sealed|verify|mcp|\.well-known)\b/.test(path)) return false
      const parts = `${method} ${path}`.split('/')
      return !routes.some(
        (route) =>
          route.length === parts.length &&
          route.every(
            (part, index) => part === ':' || part === parts[index] || /^[:<]/.test(parts[index] ?? ''),
          ),
      )
    })
    expect(unknown).toEqual([])
  })
})

describe('a claim is made in one page', () => {
  test.each(CLAIMS)('about $of: $page', ({ page, says }) => {
    const claiming = pages.filter(({ text }) => says.test(proseOf(text))).map(({ file }) => file)
    expect(claiming).toEqual([page])
  })

  test.each([
    'Nothing is paid back\nby itself.',
    'No cookies are set here.',
    'Refused calls and errors count nothing.',
    'Deliveries come in order.',
  ])('that a page would make besides is found: %s', (planted) => {
    expect(CLAIMS.filter(({ says }) => says.test(proseOf(`${planted}\n`)))).toHaveLength(1)
  })
})
