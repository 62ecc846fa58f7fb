import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { BackupPlace, PlaceLock } from './place.ts'
import { type S3Credentials, signedHeaders } from './s3-signature.ts'
import { sha256Of } from './segment.ts'

export interface S3PlaceOptions {
  readonly bucket: string
  /** In front of every name, without slashes at its ends; empty for none. */
  readonly prefix: string
  /** `https://s3.eu-central-1.amazonaws.com`, or whoever else speaks S3. */
  readonly endpoint: URL
  readonly region: string
  readonly credentials: S3Credentials
  /** Who this is, in the lock. */
  readonly holder: string
  readonly now: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  readonly fetch: typeof fetch
}

const REQUEST_MS = 120_000
/** Waits between tries of a request that failed in passing. */
const RETRIES_MS = [250, 1_000, 4_000] as const
/** A lock that was not renewed for so long is of a process that ended. */
const STALE_LOCK_MS = 600_000
const LOCK_NAME = 'backup.lock'

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

/**
 * A backup in a bucket, asked by path (`endpoint/bucket/name`), so that no name in the DNS is needed for it. A body is named
 * by its hash in the signature: what arrives changed is refused by the other side.
 */
export function openS3Place(options: S3PlaceOptions): BackupPlace {
  const { bucket, prefix, endpoint } = options
  const root = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}`
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)

  async function ask(
    method: string,
    path: string,
    more: {
      readonly query?: Readonly<Record<string, string>>
      readonly body?: Uint8Array
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ): Promise<Answer> {
    const url = new URL(endpoint)
    url.pathname = path
      .split('/')
      .map((part) => encodeURIComponent(part))
      .join('/')
    for (const [name, value] of Object.entries(more.query ?? {})) url.searchParams.set(name, value)
    // What S3 signs in a query has blanks as %20.
    url.search = url.search.replaceAll('+', '%20')
    for (let tries = 0; ; tries++) {
      const wait = RETRIES_MS[tries]
      try {
        const answer = await once(options, method, url, more)
        if (wait === undefined || (answer.status < 500 && answer.status !== 429)) return answer
      } catch (error) {
        if (wait === undefined) throw unreachable(options, reasonOf(rootOf(error)), error)
      }
      await options.sleep(wait)
    }
  }

  const pathOf = (name: string): string => `${root}/${keyOf(name)}`

  async function list(begin: string): Promise<string[]> {
    const names: string[] = []
    let token: string | undefined
    do {
      const query = {
        'list-type': '2',
        prefix: keyOf(begin),
        ...(token !== undefined && { 'continuation-token': token }),
      }
      const answer = requireOk(options, await ask('GET', root, { query }), 'cannot be listed')
      const text = answer.body.toString('utf8')
      for (const [, key = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g))
        names.push(unescaped(key).slice(prefix === '' ? 0 : prefix.length + 1))
      token = /<NextContinuationToken>([^<]*)</.exec(text)?.[1]
      if (token !== undefined) token = unescaped(token)
    } while (token !== undefined)
    return names
  }

  return {
    description: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,
    async get(name) {
      const answer = await ask('GET', pathOf(name))
      // A bucket that is not there is told apart: it is no empty backup.
      if (answer.status === 404 && !answer.body.includes('NoSuchBucket')) return undefined
      return requireOk(options, answer, `${name} cannot be read`).body
    },
    async put(name, body) {
      requireOk(options, await ask('PUT', pathOf(name), { body }), `${name} cannot be written`)
    },
    list,
    async remove(name) {
      const answer = await ask('DELETE', pathOf(name))
      if (answer.status !== 404) requireOk(options, answer, `${name} cannot be removed`)
    },
    lock: () => takeLock(options, (method, more) => ask(method, pathOf(LOCK_NAME), more)),
  }
}

async function once(
  { credentials, region, now, fetch: send }: S3PlaceOptions,
  method: string,
  url: URL,
  { body, headers = {} }: { readonly body?: Uint8Array; readonly headers?: Readonly<Record<string, string>> },
): Promise<Answer> {
  const request = { method, url, headers, payloadSha256: sha256Of(body ?? '') }
  const { host: _host, ...signed } = signedHeaders(request, credentials, { region, at: now() })
  const response = await send(url, {
    method,
    headers: signed,
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_MS),
    ...(body !== undefined && { body: new Uint8Array(body) }),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: Buffer.from(await response.arrayBuffer()),
  }
}

type AskLock = (
  method: string,
  more?: { readonly body?: Uint8Array; readonly headers?: Readonly<Record<string, string>> },
) => Promise<Answer>

/**
 * A file that is made where there is none, and replaced only as the one that was read: two at once cannot both have it. One
 * whose holder ended without giving it back is taken over after ten minutes, by the clock of the other side.
 */
async function takeLock(options: S3PlaceOptions, ask: AskLock): Promise<PlaceLock> {
  const body = (): Buffer => Buffer.from(JSON.stringify({ holder: options.holder, renewedAt: options.now() }))
  const write = (condition: Readonly<Record<string, string>>): Promise<Answer> =>
    ask('PUT', { body: body(), headers: condition })

  let answer = await write({ 'if-none-match': '*' })
  if (isTaken(answer)) {
    const held = await ask('GET')
    const age =
      Date.parse(held.headers.get('date') ?? '') - Date.parse(held.headers.get('last-modified') ?? '')
    const isOurs = held.status === 200 && held.body.includes(JSON.stringify(options.holder))
    const isFree = held.status === 404 || isOurs || age > STALE_LOCK_MS
    if (!isFree) throw goesOn(options, held)
    answer = await write(
      held.status === 404 ? { 'if-none-match': '*' } : { 'if-match': held.headers.get('etag') ?? '' },
    )
    if (isTaken(answer)) throw goesOn(options, held)
  }
  let etag = requireOk(options, answer, 'cannot be locked').headers.get('etag') ?? ''
  let renewedAt = options.now()
  return {
    async renew() {
      if (options.now() - renewedAt < STALE_LOCK_MS / 10) return
      const renewed = await write({ 'if-match': etag })
      if (isTaken(renewed) || renewed.status === 404) throw goesOn(options, renewed)
      etag = requireOk(options, renewed, 'cannot be locked').headers.get('etag') ?? ''
      renewedAt = options.now()
    },
    async release() {
      const held = await ask('GET')
      if (held.headers.get('etag') === etag) await ask('DELETE')
    },
  }
}

const isTaken = ({ status }: Answer): boolean => status === 412 || status === 409

const goesOn = ({ bucket, prefix }: S3PlaceOptions, { body }: Answer): ServiceError =>
  new ServiceError('store_locked', {
    message: `a backup to s3://${bucket}/${prefix} goes on elsewhere, or ended less than ten minutes ago without giving its lock back: ${body.toString('utf8').slice(0, 200)}`,
    nextStep: `Wait for it; where there is none, try again in ten minutes, or remove ${LOCK_NAME} there.`,
  })

function requireOk(options: S3PlaceOptions, answer: Answer, what: string): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer
  const text = answer.body.toString('utf8')
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1]
  const said = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1]
  const reason = [String(answer.status), code, said].filter((part) => part !== undefined).join(' ')
  if (answer.status === 507 || code === 'QuotaExceeded' || code === 'XMinioStorageFull') {
    throw new ServiceError('store_full', {
      message: `s3://${options.bucket}: ${what}: it is full (${reason})`,
      nextStep: 'Make room there and run the same command again: it goes on where it was.',
    })
  }
  throw unreachable(options, `${what}: ${reason}`)
}

const unreachable = ({ bucket, endpoint }: S3PlaceOptions, why: string, cause?: unknown): ServiceError =>
  new ServiceError('backup_unreachable', { message: `s3://${bucket} at ${endpoint.host}: ${why}`, cause })

/** `fetch failed` has the reason inside. */
const rootOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? error.cause : error

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
