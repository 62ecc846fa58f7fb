import { accessSync, constants } from 'node:fs'
import { isIP } from 'node:net'
import { EventStoreDBClient } from '@eventstore/db-client'
import { credentials as grpcCredentials } from '@grpc/grpc-js'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'

/**
 * Node.js 26 takes no address as the name of a TLS server, and gRPC passes one for a host without a name. Without that
 * name Node.js compares the certificate with the address all the same.
 */
const secure = Object.getPrototypeOf(grpcCredentials.createSsl())
const CONNECTOR = '_createSecureConnector'
const createSecureConnector = secure[CONNECTOR]
secure[CONNECTOR] = function (this: unknown, ...args: unknown[]) {
  const connector = createSecureConnector.apply(this, args)
  if (isIP(connector.connectionOptions.servername) !== 0) connector.connectionOptions.servername = ''
  return connector
}

type Credentials = Readonly<Record<'username' | 'password', string>>

export type Connection = ReturnType<typeof createConnection>

/**
 * How long a connection may be silent, and a ping without an answer, in milliseconds: by default the client waits ten
 * seconds for each, and calls for a leader that is silent, not dead, wait with it. A ping must outlast a process that
 * comes to nothing for seconds, since its own timer is heard before the answer that has come meanwhile. A node that is
 * asked who leads may say nothing for a second; then the next one is asked.
 */
const DEFAULTS = { keepAliveInterval: 3_000, keepAliveTimeout: 6_000, gossipTimeout: 1 }

/** Other names of `esdb:` that the maker documents for the same servers; this client knows one. */
const SAME_SCHEME = /^(?:kurrentdb|kurrent|kdb)(?=(?:\+discover)?:)/
/** `esdb://name:password@host…`, found as the client finds it. */
const USER_INFO = /^([a-z+]+:\/\/)([^:]+):([^@]*)@/
/** A server without TLS asks for no user, and the client sends it none. */
const NOBODY: Credentials = { username: 'nobody', password: '' }
/** The client's loggers that print the credentials of a call. */
const PRINTS_CALLS = /\*|esdb/

/**
 * Connects to EventStoreDB or KurrentDB by the published client. The connection is made by the first call. @throws
 * ServiceError `config_invalid`, which never quotes the connection string
 */
export function createConnection(connectionString: string, environment = process.env) {
  if (PRINTS_CALLS.test(environment['DEBUG'] ?? ''))
    throw new ServiceError('config_invalid', {
      message: `DEBUG is ${JSON.stringify(environment['DEBUG'])}, with which the client of EventStoreDB prints passwords. Leave esdb out of it`,
    })
  const address = connectionString.replace(SAME_SCHEME, 'esdb')
  const [hosts = '', query = ''] = address.split('?', 2)
  const parameters = query.split('&').filter((part) => part !== '')
  requireUsable(hosts, parameters)
  const credentials = credentialsIn(address)
  if (credentials === undefined && parameterOf(parameters, 'tls') !== 'false')
    throw invalidError('names no user and password, which TLS asks for')
  for (const [name, value] of Object.entries(DEFAULTS))
    if (parameterOf(parameters, name) === undefined) parameters.push(`${name}=${value}`)

  const connect = () => ({
    ...openClient(`${hosts}?${parameters.join('&')}`),
    replacing: new AbortController(),
  })
  let now = connect()
  return {
    /** The client that calls are made with; when `replaced` is aborted, calls that it has under way end. */
    current: () => ({ client: now.client, replaced: now.replacing.signal }),
    /**
     * Options of every call. A follower may not yet hold what was just appended, so the leader is asked. With credentials the
     * client makes one call for each append: without them, appends of the whole process stand in one table, where an error
     * of one rejects others and a silence leaves them waiting for ever.
     */
    always: { requiresLeader: true, credentials: credentials ?? NOBODY } as const,
    /** Version of the server; undefined for one that is too old to say. */
    version: () => now.version(),
    /** Makes a new client, which looks for the leader anew, in place of one whose server does not answer. */
    renew() {
      const former = now
      now = connect()
      former.replacing.abort()
      endCalls(former.client)
    },
    close: () => endCalls(now.client),
  }
}

/** It cancels all calls before it waits for their ends, and waits for ever where one of them has ended already. */
function endCalls(client: EventStoreDBClient): void {
  client.dispose().catch(() => undefined)
}

/** Members that the client's types protect, of its version 6.2.1. */
interface Protected {
  handleError(this: void, grpcClient: unknown, error: unknown): Promise<void>
  readonly capabilities: Promise<{ readonly serverVersion: string }>
}

/**
 * The client as published, but for three things that it offers no way to. Nobody waits for its `handleError`: where no
 * leader is found, that rejection would end the process. The version of the server stands in its `capabilities` alone. And
 * it prints a warning for every keep-alive below ten seconds, which this one is on purpose.
 */
function openClient(address: string) {
  const { warn } = console
  Object.assign(console, { warn: () => undefined })
  try {
    const client = EventStoreDBClient.connectionString(address)
    const inner = client as unknown as Protected
    const { handleError } = inner
    inner.handleError = (grpcClient, error) => handleError(grpcClient, error).catch(() => undefined)
    const version = async (): Promise<string | undefined> => {
      const { serverVersion } = await inner.capabilities
      return serverVersion === 'unknown' ? undefined : serverVersion
    }
    return { client, version }
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

/** As the client reads names: without regard to case, - and _. */
function parameterOf(parameters: readonly string[], name: string): string | undefined {
  const flat = (text: string): string => text.toLowerCase().replace(/[_-]/g, '')
  const found = parameters.find((part) => flat(part.split('=', 1)[0] ?? '') === flat(name))
  return found?.slice(found.indexOf('=') + 1)
}

/** Refuses parameters that the client would ignore, or would report as an unreadable string. */
function requireUsable(hosts: string, parameters: readonly string[]): void {
  if (/^esdb\+discover:.*,/.test(hosts))
    throw invalidError(
      'asks one host of many: esdb+discover:// takes one name; several stand in esdb://a,b,c',
    )
  if (parameterOf(parameters, 'throwOnAppendFailure') === 'false')
    throw invalidError('sets throwOnAppendFailure=false; remove it')
  if (parameterOf(parameters, 'tlsVerifyCert') === 'false')
    throw invalidError('sets tlsVerifyCert=false, which has no effect; name the authority with tlsCaFile')
  for (const name of ['tlsCaFile', 'userCertFile', 'userKeyFile']) {
    const file = parameterOf(parameters, name)
    try {
      if (file !== undefined) accessSync(file, constants.R_OK)
    } catch (error) {
      throw invalidError(`names the ${name} ${file}, which cannot be read: ${reasonOf(error)}`)
    }
  }
}

function credentialsIn(connectionString: string): Credentials | undefined {
  const [, , username, password] = USER_INFO.exec(connectionString) ?? []
  if (username === undefined || password === undefined) return undefined
  try {
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    throw invalidError('holds a name or password that is not percent-encoded as it should be')
  }
}
