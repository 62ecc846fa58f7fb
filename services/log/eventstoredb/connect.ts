import { accessSync, constants } from 'node:fs'
import { EventStoreDBClient } from '@eventstore/db-client'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

interface Credentials {
  readonly username: string
  readonly password: string
}

/** The client that calls are made with. */
export interface Connected {
  readonly client: EventStoreDBClient
  /** Aborted when it is given up: what is under way with it ends. */
  readonly replaced: AbortSignal
}

export interface Connection {
  current(): Connected
  /**
   * Options of every call. A follower may not yet hold what was just appended, so the leader is asked. With credentials the
   * client makes one call for each append: without them, appends of the whole process stand in one table, where an error
   * of one rejects others and a silence leaves them waiting for ever.
   */
  readonly always: { readonly requiresLeader: true; readonly credentials: Credentials }
  /** Version of the server; undefined where it is too old to say. */
  version(): Promise<string | undefined>
  /** Makes a new client, which looks for the leader anew: who is asked by this one does not answer. */
  renew(): void
  /** Ends what is under way. */
  close(): void
}

/**
 * How long a connection may be silent, and a ping without an answer, in milliseconds: by default the client waits ten
 * seconds for each, and calls for a leader that is silent, not dead, wait with it. A ping must outlast a process that
 * comes to nothing for seconds, since its own timer is heard before the answer that has come meanwhile.
 */
const KEEP_ALIVE_MS = { keepAliveInterval: 3_000, keepAliveTimeout: 6_000 }
/** How long a node that is asked who leads may say nothing, seconds: then the next one is asked. */
const GOSSIP_S = { gossipTimeout: 1 }

/** Other names of `esdb:` that the maker documents for the same servers; this client knows one. */
const SAME_SCHEME = /^(?:kurrentdb|kurrent|kdb)(?=(?:\+discover)?:)/

/** `esdb://name:password@host…`, found as the client finds it. */
const USER_INFO = /^([a-z+]+:\/\/)([^:]+):([^@]*)@/

/** A server without TLS asks for no user, and the client sends it none. */
const NOBODY: Credentials = { username: 'nobody', password: '' }

/** The client's loggers that print the credentials of a call. */
const PRINTS_CALLS = /\*|esdb/

/**
 * Connects to EventStoreDB or KurrentDB by the published client. The connection is made by the first call.
 *
 * @throws ServiceError `config_invalid`, which never quotes the connection string
 */
export function createConnection(connectionString: string, environment = process.env): Connection {
  const whole = connectionString.replace(SAME_SCHEME, 'esdb')
  const credentials = credentialsIn(whole)
  const { hosts, parameters } = splitAddress(whole)
  requireUsable(parameters)
  if (PRINTS_CALLS.test(environment['DEBUG'] ?? ''))
    throw new ServiceError('config_invalid', {
      message: `DEBUG is ${JSON.stringify(environment['DEBUG'])}, with which the client of EventStoreDB prints passwords. Leave esdb out of it`,
    })
  const isPlain = parameterOf(parameters, 'tls') === 'false'
  if (credentials === undefined && !isPlain)
    throw invalidError('names no user and password, which TLS asks for')
  for (const [name, value] of Object.entries({ ...KEEP_ALIVE_MS, ...GOSSIP_S })) {
    if (parameterOf(parameters, name) === undefined) parameters.push(`${name}=${value}`)
  }
  const connect = () => ({
    client: newClient(`${hosts}?${parameters.join('&')}`),
    replacing: new AbortController(),
  })
  let { client, replacing } = connect()
  return {
    current: () => ({ client, replaced: replacing.signal }),
    always: { requiresLeader: true, credentials: credentials ?? NOBODY },
    async version() {
      const { serverVersion } = await (client as unknown as Features).capabilities
      return serverVersion === 'unknown' ? undefined : serverVersion
    },
    renew() {
      const former = { client, replacing }
      ;({ client, replacing } = connect())
      former.replacing.abort()
      endCalls(former.client)
    },
    close: () => endCalls(client),
  }
}

/** It cancels all calls before it waits for their ends, and waits for ever where one of them has ended already. */
function endCalls(client: EventStoreDBClient): void {
  client.dispose().catch(() => undefined)
}

/** The server's word on itself: `protected` in the client's types. */
interface Features {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
}

/** Nobody waits for it: where the discovery of a leader fails, its rejection would end the process. */
interface HandlesErrors {
  handleError: (grpcClient: unknown, error: unknown) => Promise<void>
}

function newClient(address: string): EventStoreDBClient {
  const client = connectQuietly(address)
  const inner = client as unknown as HandlesErrors
  const { handleError } = inner
  inner.handleError = (grpcClient, error) => handleError(grpcClient, error).catch(() => undefined)
  return client
}

/** The client warns of every keep-alive below ten seconds; this one is chosen. */
function connectQuietly(address: string): EventStoreDBClient {
  const { warn } = console
  Object.assign(console, { warn: () => undefined })
  try {
    return EventStoreDBClient.connectionString(address)
  } catch {
    // Neither the message nor the cause goes on: the parser's error quotes what it was given.
    throw invalidError(
      'cannot be read; it looks like esdb://name:password@host:2113?tls=true (or kurrentdb://…)',
    )
  } finally {
    Object.assign(console, { warn })
  }
}

const invalidError = (why: string): ServiceError =>
  new ServiceError('config_invalid', { message: `EVENTSTORE_URL (the connection string) ${why}` })

function splitAddress(address: string): { hosts: string; parameters: string[] } {
  const [hosts = '', query = ''] = address.split('?', 2)
  if (/^esdb\+discover:.*,/.test(hosts)) {
    throw invalidError(
      'asks one host of many: esdb+discover:// takes one name; several stand in esdb://a,b,c',
    )
  }
  return { hosts, parameters: query.split('&').filter((part) => part !== '') }
}

/** As the client reads names: without regard to case, - and _. */
function parameterOf(parameters: readonly string[], name: string): string | undefined {
  const flat = (text: string): string => text.toLowerCase().replace(/[_-]/g, '')
  const found = parameters.find((part) => flat(part.split('=', 1)[0] ?? '') === flat(name))
  return found?.slice(found.indexOf('=') + 1)
}

/** Refuses parameters that the client would ignore, or would report as an unreadable string. */
function requireUsable(parameters: readonly string[]): void {
  if (parameterOf(parameters, 'throwOnAppendFailure') === 'false') {
    throw invalidError('sets throwOnAppendFailure=false; remove it')
  }
  if (parameterOf(parameters, 'tlsVerifyCert') === 'false') {
    throw invalidError('sets tlsVerifyCert=false, which has no effect; name the authority with tlsCaFile')
  }
  for (const name of ['tlsCaFile', 'userCertFile', 'userKeyFile']) {
    const file = parameterOf(parameters, name)
    if (file === undefined) continue
    try {
      accessSync(file, constants.R_OK)
    } catch (error) {
      throw invalidError(`names the ${name} ${file}, which cannot be read: ${reasonOf(error)}`)
    }
  }
}

function credentialsIn(connectionString: string): Credentials | undefined {
  const [, , username, password] = USER_INFO.exec(connectionString) ?? []
  if (username === undefined || password === undefined) return undefined
  return { username: decode(username), password: decode(password) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw invalidError('holds a name or password that is not percent-encoded as it should be')
  }
}
