import type { Bars, RegimeShifts, TrackRecord, WebhookSubscription } from './types.ts'

/** Routes beside the tools, by the name of their method. What a path names with a colon is a field of the request. */
export const ROUTES = {
  markets: 'GET /api/markets',
  bars: 'GET /api/bars',
  trackRecord: 'GET /api/track-record',
  trackRecordMonths: 'GET /api/track-record/months',
  trackRecordCoins: 'GET /api/track-record/coins',
  regimeShifts: 'GET /api/regime-shifts',
  seriesHistory: 'GET /api/series/:exchange/:coin/:timeframe',
  board: 'GET /api/board',
  sealedDays: 'GET /sealed',
  verifyVerdict: 'GET /verify/:verdict_id',
  signIn: 'POST /api/sign-in',
  confirmSignIn: 'POST /api/sign-in/confirm',
  account: 'GET /api/account',
  usage: 'GET /api/usage',
  ownPayments: 'GET /api/payments',
  keys: 'GET /api/keys',
  issueKey: 'POST /api/keys',
  revokeKey: 'DELETE /api/keys/:id',
  changeWebhook: 'PATCH /api/webhooks/:id',
  webhookRetries: 'GET /api/webhooks/:id/retries',
  webhookEvents: 'GET /api/webhooks/:id/events',
} as const satisfies Readonly<Record<string, `${Method} /${string}`>>

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type RouteName = keyof typeof ROUTES

/** Answers that have a type here; `/openapi.json` describes the others. */
interface Answers {
  readonly bars: Bars
  readonly trackRecord: TrackRecord
  readonly regimeShifts: RegimeShifts
  readonly changeWebhook: WebhookSubscription
  readonly revokeKey: undefined
}
export type RouteAnswer<Name extends RouteName> = Name extends keyof Answers
  ? Answers[Name]
  : Readonly<Record<string, unknown>>

type PathOf<Route> = Route extends `${Method} ${infer Path}` ? Path : never
type InPath<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | InPath<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never
export type RouteRequest<Name extends RouteName> = Readonly<Record<string, unknown>> &
  Readonly<Record<InPath<PathOf<(typeof ROUTES)[Name]>>, string>>

/** A value as one segment of a path: with dots alone it would be another path. */
export function segmentOf(value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" is no id`)
  return encodeURIComponent(value)
}

/** The method and the path of a request, and the fields that are left for its query or its body. */
export function routed(name: RouteName, request: Readonly<Record<string, unknown>>) {
  const left = { ...request }
  const [method, template] = ROUTES[name].split(' ') as [Method, string]
  const path = template.replaceAll(/:(\w+)/g, (_, field: string) => {
    const value = left[field]
    delete left[field]
    if (typeof value !== 'string') throw new TypeError(`${name} needs ${field}`)
    return segmentOf(value)
  })
  return { method, path, left }
}
