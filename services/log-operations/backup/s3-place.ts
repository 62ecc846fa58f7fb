import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { AnswerTooLong, type BoundedAnswer, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import type { BackupPlace, PlaceLock } from './place.ts'
import { type S3Credentials, signedHeaders } from './s3-signature.ts'
import { SEGMENT_BYTES, sha256Of } from './segment.ts'

export interface S3PlaceOptions {
  readonly bucket: string
  /** In front of every name, without slashes at its ends; empty for none. */
  readonly prefix: string
  /** `https://s3.eu-central-1.amazonaws.com`, or another server that speaks S3. */
  readonly endpoint: URL
  readonly region: string
  readonly credentials: S3Credentials
  /** Name of this process in the lock. */
  readonly holder: string
  /** Whether the operator vouches that nothing else backs up there: the lock then needs no conditional writes. */
  readonly isAlone: boolean
  readonly now: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
}

const REQUEST_MS = 120_000
/** One page of a list has a thousand names of a kilobyte; locks and refusals are shorter. */
const ANSWER_BYTES = 8_388_608
/** Waits between tries of a request that failed in passing. */
const RETRIES_MS = [250, 1_000, 4_000] as const
/** A lock that was not renewed for so long is of a process that ended. */
const STALE_LOCK_MS = 600_000
const LOCK_NAME = 'backup.lock'
/** Statuses that may be another a moment later; a server that lacks a feature (501) or is full (507) says so again. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

type Answer = Pick<BoundedAnswer, 'status' | 'headers' | 'body'>

interface AskMore {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly mostBytes?: number
}

/**
 * A backup in a bucket, asked by path (`endpoint/bucket/name`), so that no name in the DNS is needed for it. A body is named
 * by its hash in the signature: what arrives changed is refused by the other side.
 */
export function openS3Place(options: S3PlaceOptions): BackupPlace {
  const { bucket, prefix, endpoint } = options
  const root = `${endpoint.pathname.replace(/\/$/, '')}/${bucket}`
  const keyOf = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`)

  async function ask(method: string, path: string, more: AskMore = {}): Promise<Answer> {
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
        if (wait === undefined || !PASSING.has(answer.status)) return answer
      } catch (error) {
        if (wait === undefined || error instanceof AnswerTooLong)
          throw unreachable(options, reasonOf(rootOf(error)), error)
      }
      await options.sleep(wait)
    }
  }

  const pathOf = (name: string): string => `${root}/${keyOf(name)}`

  async function list(begin: string): Promise<string[]> {
    const names: string[] = []
    const seen = new Set<string>()
    const query: Record<string, string> = { 'list-type': '2', prefix: keyOf(begin) }
    for (;;) {
      const answer = requireOk(options, await ask('GET', root, { query }), 'cannot be listed')
      const text = answer.body.toString('utf8')
      for (const [, key = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g))
        names.push(unescaped(key).slice(prefix === '' ? 0 : prefix.length + 1))
      const [, next] = /<NextContinuationToken>([^<]*)</.exec(text) ?? []
      if (next === undefined) return names
      const token = unescaped(next)
      if (seen.has(token)) throw unreachable(options, 'cannot be listed: its list names a page twice')
      seen.add(token)
      query['continuation-token'] = token
    }
  }

  return {
    description: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,
    async get(name) {
      const answer = await ask('GET', pathOf(name), { mostBytes: SEGMENT_BYTES })
      // A missing bucket is no empty backup.
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
  { credentials, region, now }: S3PlaceOptions,
  method: string,
  url: URL,
  { body, headers = {}, mostBytes = ANSWER_BYTES }: AskMore,
): Promise<Answer> {
  const request = { method, url, headers, payloadSha256: sha256Of(body ?? '') }
  const { host: _host, ...signed } = signedHeaders(request, credentials, { region, at: now() })
  // The signature is for this host only: a redirect is reported and not followed.
  const init = { method, headers: signed, redirect: 'manual' } as const
  const sent = body === undefined ? init : { ...init, body: new Uint8Array(body) }
  return boundedFetch(url, sent, { timeMs: REQUEST_MS, mostBytes })
}

type AskLock = (method: string, more?: AskMore) => Promise<Answer>

/**
 * A file that is made where there is none and replaced only as the one that was read; stale after ten minutes by the
 * server's clock. Servers that ignore such conditions are found by trying; there the operator vouches for being alone.
 */
async function takeLock(options: S3PlaceOptions, ask: AskLock): Promise<PlaceLock> {
  const { holder, isAlone, now } = options
  const body = (): Buffer => Buffer.from(JSON.stringify({ holder, renewedAt: now() }))
  const write = (condition: Readonly<Record<string, string>>): Promise<Answer> =>
    ask('PUT', { body: body(), headers: isAlone ? {} : condition })
  const read = async (): Promise<Answer> => {
    const held = await ask('GET')
    return held.status === 404 ? held : requireOk(options, held, 'cannot be locked')
  }
  const isOurs = ({ status, body: held }: Answer): boolean =>
    status === 200 && held.includes(JSON.stringify(holder))

  let answer = isAlone ? undefined : await write({ 'if-none-match': '*' })
  if (answer === undefined || isTaken(answer)) {
    const held = await read()
    const isFree = held.status === 404 || isOurs(held) || ageOf(held) > STALE_LOCK_MS
    if (!isFree) throw goesOn(options, held)
    answer = await write(held.status === 404 ? { 'if-none-match': '*' } : { 'if-match': etagOf(held) })
    if (isTaken(answer)) throw goesOn(options, held)
  }
  if (!isAlone && lacksConditions(answer)) throw noConditions(options)
  let etag = etagOf(requireOk(options, answer, 'cannot be locked'))
  if (!isAlone && !isTaken(await write({ 'if-none-match': '*' }))) {
    await ask('DELETE')
    throw noConditions(options)
  }
  let renewedAt = now()
  return {
    async renew() {
      if (now() - renewedAt < STALE_LOCK_MS / 10) return
      if (isAlone) await requireOurs()
      const renewed = await write({ 'if-match': etag })
      if (renewed.status === 404) throw goesOn(options, renewed)
      // Where the answer to a write was lost, the next try meets what it wrote.
      const held = isTaken(renewed) ? await requireOurs() : requireOk(options, renewed, 'cannot be locked')
      etag = etagOf(held)
      renewedAt = now()
    },
    async release() {
      if (isOurs(await read())) await ask('DELETE')
    },
  }

  async function requireOurs(): Promise<Answer> {
    const held = await read()
    if (isOurs(held)) return held
    throw goesOn(options, held)
  }
}

const etagOf = ({ headers }: Answer): string => headers.get('etag') ?? ''

const ageOf = ({ headers }: Answer): number =>
  Date.parse(headers.get('date') ?? '') - Date.parse(headers.get('last-modified') ?? '')

const lacksConditions = ({ status, body }: Answer): boolean =>
  status === 501 || (status === 400 && body.includes('NotImplemented'))

const noConditions = ({ bucket, endpoint }: S3PlaceOptions): ServiceError =>
  new ServiceError('backup_unreachable', {
    message: `s3://${bucket} at ${endpoint.host}: cannot be locked: that server makes no conditional writes (If-None-Match), which keep two backups from running at once`,
    nextStep:
      'Where nothing else backs up to this address, say so with --alone; otherwise choose a server that makes them.',
  })

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
  throw unreachable(options, `${what}: ${reason}`, undefined, nextStepOf(options, answer, code))
}

const ELSEWHERE = new Set(['PermanentRedirect', 'TemporaryRedirect', 'AuthorizationHeaderMalformed'])

/** The next step, for answers that contain it. */
function nextStepOf(
  { region }: S3PlaceOptions,
  { status, headers, body }: Answer,
  code: string | undefined,
): string | undefined {
  if (code === 'RequestTimeTooSkewed')
    return 'Set the clock of this machine: a signature says when it was made. Then run the same command again.'
  const isElsewhere = (status >= 300 && status < 400) || (code !== undefined && ELSEWHERE.has(code))
  const there =
    headers.get('x-amz-bucket-region') ?? /<Region>([\w-]{1,60})<\/Region>/.exec(body.toString())?.[1]
  if (!isElsewhere || there === undefined || there === region) return undefined
  return `The bucket is in another region: set AWS_REGION=${there}, and the endpoint of that region where one is set.`
}

const unreachable = (
  { bucket, endpoint }: S3PlaceOptions,
  why: string,
  cause?: unknown,
  nextStep?: string,
): ServiceError =>
  new ServiceError('backup_unreachable', {
    message: `s3://${bucket} at ${endpoint.host}: ${why}`,
    cause,
    ...(nextStep !== undefined && { nextStep }),
  })

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
