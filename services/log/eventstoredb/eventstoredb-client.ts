import { accessSync, constants } from 'node:fs'
import { EventStoreDBClient } from '@eventstore/db-client'
import { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
import streamsService, { type StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { CallOptions, Metadata } from '@grpc/grpc-js'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { decodeAppended } from './append-message.ts'
import type { ReadCall } from './event-pull.ts'
import { decodeAnswer, encodeRead, type ReadRequest } from './read-message.ts'

interface Credentials {
  readonly username: string
  readonly password: string
}

type CallArguments = (
  options: { credentials?: Credentials; requiresLeader?: boolean },
  callOptions?: object,
) => [Metadata, CallOptions]

/** All are `protected` in the client's types, so they are reached through this one. */
interface ClientInternals {
  callArguments: CallArguments
  handleError: (grpcClient: unknown, error: unknown) => Promise<void>
  createGRPCClient: (type: unknown) => Promise<unknown>
  /** Features of the server, which it names when it is connected to. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>
  /** The connection that there is, or a new one. */
  getChannel: () => Promise<{ getTarget(): string; close(): void }>
  /** Begins a call that ends with the client, and whose errors have it connect anew. */
  GRPCStreamCreator: <Call>(
    type: typeof StreamsClient,
    name: string,
    begin: (grpcClient: StreamsClient) => Call,
  ) => () => Promise<Call>
}

/**
 * How long a connection may be silent, and a ping without an answer, in milliseconds: by default the client waits ten
 * seconds for each, and calls for a leader that is silent, not dead, wait with it. Others elect a new one in six to ten
 * seconds. A ping must outlast a process that comes to nothing for seconds, since its own timer is heard before the
 * answer that has come meanwhile: at three seconds, processes on a crowded machine cut their own reads off again and
 * again.
 */
const KEEP_ALIVE_MS = { keepAliveInterval: 3_000, keepAliveTimeout: 6_000 }
/** How long a node that is asked who leads may say nothing, seconds: then the next one is asked. */
const GOSSIP_S = { gossipTimeout: 1 }

/** Other names of `esdb:` that the maker documents for the same servers; this client knows one. */
const SAME_SCHEME = /^(?:kurrentdb|kurrent|kdb)(?=(?:\+discover)?:)/

/** `esdb://name:password@host…`, found as the client finds it; the middle part is taken out. */
const USER_INFO = /^([a-z+]+:\/\/)([^:]+):([^@]*)@/

/**
 * Makes a client of EventStoreDB, with two of the client's inner functions replaced, and a way to append that is not the
 * client's (`append-line.ts`): its callers stand in a table that is global to the process, so that an error on one call
 * rejects the appends of another, whose answers then throw where nobody can catch it; a call that ends without an
 * error leaves its callers waiting for ever; and its deadlines are instants of this machine's clock, so that a clock that is
 * slow by the timeout fails every append.
 *
 * - `callArguments`, to add the credentials as late as here, because the client prints its connection string
 *   and its call options when `DEBUG` asks for it; and to ask for the leader, because a follower may not yet
 *   hold what was just appended.
 * - `handleError`, which nobody waits for: where the discovery of a leader fails, its rejection would end the process.
 *   The next call makes the next try.
 *
 * @throws ServiceError `config_invalid`, which never quotes the connection string; `dependency_changed` where the package
 * has not the functions that are replaced or called here.
 */
export function createEventStoreDbClient(connectionString: string) {
  const { address, credentials } = splitCredentials(connectionString.replace(SAME_SCHEME, 'esdb'))
  const { hosts, parameters } = splitAddress(address)
  requireUsable(parameters)
  for (const [name, value] of Object.entries({ ...KEEP_ALIVE_MS, ...GOSSIP_S })) {
    if (parameterOf(parameters, name) === undefined) parameters.push(`${name}=${value}`)
  }
  const whole = `${hosts}?${parameters.join('&')}`
  const client = connect(whole)
  const inner = client as unknown as ClientInternals
  requireKnownInside(inner)
  const { callArguments, handleError, createGRPCClient } = inner
  let newest: unknown
  inner.createGRPCClient = async (made) => (newest = await createGRPCClient(made))
  const always = { requiresLeader: true, ...(credentials && { credentials }) }
  inner.callArguments = (options, callOptions) => callArguments({ ...always, ...options }, callOptions)
  inner.handleError = (grpcClient, error) => handleError(grpcClient, error).catch(() => undefined)
  const { StreamsClient: type, StreamsService } = streamsService
  // It stays open for as long as it lasts.
  const argumentsOf = () => inner.callArguments({}, { deadline: Number.POSITIVE_INFINITY })
  return {
    client,
    /** Begins a read or a subscription. */
    openRead: (request: ReadRequest): Promise<ReadCall> => {
      const bytes = encodeRead(request)
      return inner.GRPCStreamCreator(type, 'read', (grpcClient) =>
        grpcClient.makeServerStreamRequest(
          StreamsService.read.path,
          asItIs,
          decodeAnswer,
          bytes,
          ...argumentsOf(),
        ),
      )()
    },
    /** Begins a call over which many appends go. */
    openAppends: inner.GRPCStreamCreator(type, 'batchAppend', (grpcClient) =>
      grpcClient.makeBidiStreamRequest(
        StreamsService.batchAppend.path,
        asItIs,
        decodeAppended,
        ...argumentsOf(),
      ),
    ),
    /** Version of the server; undefined where it is too old to say. */
    async version(): Promise<string | undefined> {
      const { serverVersion } = await inner.capabilities
      return serverVersion === 'unknown' ? undefined : serverVersion
    },
    /** Whether, by what the nodes of a cluster say, another one leads than the one that is asked. Never of a single node. */
    hasMoved: async (): Promise<boolean> => {
      // A client of its own finds the leader anew, and nothing is asked of it but where that is.
      const { getChannel } = connect(whole) as unknown as ClientInternals
      const [asked, leading] = await Promise.all([inner.getChannel(), getChannel()])
      const isElsewhere = asked.getTarget() !== leading.getTarget()
      leading.close()
      return isElsewhere
    },
    /** Gives up the connection, so that the next call looks for the leader anew: who is asked there does not answer. */
    lookElsewhere(): void {
      if (newest !== undefined) void inner.handleError(newest, noAnswerError())
    },
  }
}

const asItIs = (request: Buffer): Buffer => request

/** Refuses a package whose inside is another: a function that is replaced and never called would fail silently, in an outage. */
function requireKnownInside(inner: ClientInternals): void {
  const functions: Record<string, unknown> = {
    callArguments: inner.callArguments,
    handleError: inner.handleError,
    createGRPCClient: inner.createGRPCClient,
    getChannel: inner.getChannel,
    GRPCStreamCreator: inner.GRPCStreamCreator,
    unpackToCommandError,
    StreamsClient: streamsService.StreamsClient,
    read: streamsService.StreamsService.read.responseDeserialize,
    batchAppend: streamsService.StreamsService.batchAppend.responseDeserialize,
    BatchAppendResp: streams.BatchAppendResp,
  }
  const missing = Object.keys(functions).filter((name) => typeof functions[name] !== 'function')
  // A getter that asks the server: it is looked for and not read.
  if (!('capabilities' in inner)) missing.push('capabilities')
  if (missing.length > 0) {
    throw new ServiceError('dependency_changed', {
      message: `@eventstore/db-client has no ${missing.join(', ')}, which the adapter of EventStoreDB replaces or calls`,
    })
  }
}

const GRPC_UNAVAILABLE = 14

/** An error of the kind by which the client knows that it has to connect anew. */
const noAnswerError = (): Error => Object.assign(new Error('no answer'), { code: GRPC_UNAVAILABLE })

/** The client warns of every keep-alive below ten seconds; this one is chosen. */
function connect(address: string): EventStoreDBClient {
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

function splitCredentials(connectionString: string): {
  address: string
  credentials: Credentials | undefined
} {
  const match = USER_INFO.exec(connectionString)
  if (match === null) return { address: connectionString, credentials: undefined }
  const [whole, scheme = '', username = '', password = ''] = match
  return {
    address: scheme + connectionString.slice(whole.length),
    credentials: { username: decode(username), password: decode(password) },
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw invalidError('holds a name or password that is not percent-encoded as it should be')
  }
}
