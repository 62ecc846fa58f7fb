import { EventStoreDBClient } from '@eventstore/db-client'
import { ServiceError } from '../../../../contracts/errors.ts'

interface Credentials {
  readonly username: string
  readonly password: string
}

type CallArguments = (
  options: { credentials?: Credentials; requiresLeader?: boolean },
  callOptions?: object,
) => unknown

/** Both are `protected` in the client's types, so they are reached through this one. */
interface ClientInternals {
  supports: () => Promise<boolean>
  callArguments: CallArguments
}

/** `esdb://name:password@host…`, found as the client finds it; the middle part is taken out. */
const USER_INFO = /^([a-z+]+:\/\/)([^:]+):([^@]*)@/

/**
 * Makes a client of EventStoreDB, with two of the client's inner functions replaced:
 *
 * - `supports`, so that each append is a call of its own. By default appends share one stream per
 *   connection, whose waiting callers stand in a table that is global to the process: an error on one stream
 *   rejects the appends of another, whose answers then throw where nobody can catch it; a stream that ends
 *   without an error leaves its callers waiting for ever; and its deadlines are instants of this machine's
 *   clock, so that a clock that is slow by the timeout fails every append.
 * - `callArguments`, to add the credentials as late as here, because the client prints its connection string
 *   and its call options when `DEBUG` asks for it; and to ask for the leader, because a follower may not yet
 *   hold what was just appended.
 *
 * @throws ServiceError `config_invalid`, which never quotes the connection string.
 */
export function createEventStoreDbClient(connectionString: string): EventStoreDBClient {
  const { address, credentials } = splitCredentials(connectionString)
  if (/[?&]throwOnAppendFailure=false/i.test(address)) {
    throw new ServiceError('config_invalid', {
      message: 'the EventStoreDB connection string sets throwOnAppendFailure=false; remove it',
    })
  }
  const client = connect(address)
  const inner = client as unknown as ClientInternals
  const { callArguments } = inner
  const always = { requiresLeader: true, ...(credentials && { credentials }) }
  inner.callArguments = (options, callOptions) => callArguments({ ...always, ...options }, callOptions)
  inner.supports = () => Promise.resolve(false)
  return client
}

function connect(address: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(address)
  } catch {
    // Neither the message nor the cause goes on: the parser's error quotes what it was given.
    throw new ServiceError('config_invalid', {
      message:
        'the EventStoreDB connection string cannot be read; it looks like esdb://name:password@host:2113?tls=true',
    })
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
    throw new ServiceError('config_invalid', {
      message:
        'the name or password in the EventStoreDB connection string is not percent-encoded as it should be',
    })
  }
}
