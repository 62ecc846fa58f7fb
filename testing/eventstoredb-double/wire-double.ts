/**
 * A small gRPC server that speaks EventStoreDB's protocol to the real client over a real socket, and can be
 * told to fail. It proves the adapter, not the database: what it does is what EventStoreDB was read and seen
 * to do, and only as far as the adapter depends on it. There are no links, access rights, TLS, elections or
 * scavenging, and regular expressions are JavaScript's. Imported by tests only.
 */

import type { IGossipServer } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import gossip from '@eventstore/db-client/generated/gossip_pb.js'
import type { IServerFeaturesServer } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type { IStreamsServer } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { Server, ServerCredentials, type ServerWritableStream, status } from '@grpc/grpc-js'
import { handleAppend, handleBatchAppend } from './append-calls.ts'
import { createDoubleLog, type DoubleLog } from './double-log.ts'
import { createFaults, type Faults } from './faults.ts'
import { handleRead, handleSubscribe } from './read-call.ts'
import { deleteMissingError, rpcError, streamNameOf, tombstonedError } from './wire-messages.ts'

export interface WireDouble {
  readonly connectionString: string
  readonly port: number
  readonly log: DoubleLog
  readonly faults: Faults
  /** Calls that came in so far, by name, and events that went out to subscriptions, and to reads of the whole log. */
  readonly calls: Record<
    'append' | 'batchAppend' | 'read' | 'subscribe' | 'eventsSent' | 'logEventsRead',
    number
  >
  /** Ends all running subscriptions: with an error, or as if nothing more were to come. */
  endSubscriptions(how: 'error' | 'silent'): void
  /** Cuts every connection and stops listening. */
  stop(): void
  /** From now on gossip names the server at this port as the leader. */
  leadsTo(port: number): void
  /** Stops, forgets what a server holds in memory only, and listens on the same port again. */
  restart(): Promise<void>
}

const HOST = '127.0.0.1'
/** Most bytes that the server reads before it refuses an append as too large. */
const MOST_MESSAGE_BYTES = 17_000_000

/** @param options.leaderPort where the not-leader fault sends its clients; by default back here. */
export async function startWireDouble(
  options: { now?: () => number; leaderPort?: number; port?: number } = {},
): Promise<WireDouble> {
  const now = options.now ?? Date.now
  const log = createDoubleLog(now)
  const faults = createFaults(now, log, () => ({ host: HOST, port: options.leaderPort ?? port }))
  const calls = { append: 0, batchAppend: 0, read: 0, subscribe: 0, eventsSent: 0, logEventsRead: 0 }
  const subscriptions = new Set<ServerWritableStream<ReadReq, ReadResp>>()
  let port = options.port ?? 0
  let leader: number | undefined
  let server: Server

  function read(call: ServerWritableStream<ReadReq, ReadResp>): void {
    const isSubscription = call.request.getOptions()?.hasSubscription() === true
    calls[isSubscription ? 'subscribe' : 'read'] += 1
    faults.unlessFrozen(() => {
      if (!isSubscription) {
        handleRead(call, log, (count) => {
          calls.logEventsRead += count
        }).catch((error: Error) => call.emit('error', error))
        return
      }
      subscriptions.add(call)
      handleSubscribe(call, log, () => {
        calls.eventsSent += 1
      })
        .catch((error: Error) => call.emit('error', error))
        .finally(() => subscriptions.delete(call))
    })
  }

  const streamsServer: IStreamsServer = {
    read,
    append(call, callback) {
      calls.append += 1
      handleAppend(call, callback, log, faults)
    },
    batchAppend(call) {
      calls.batchAppend += 1
      handleBatchAppend(call, log, faults)
    },
    delete(call, callback) {
      const stream = streamNameOf(call.request.getOptions()?.getStreamIdentifier())
      if (log.visible(stream).length === 0) return callback(deleteMissingError(stream))
      log.softDelete(stream)
      callback(null, new streams.DeleteResp())
    },
    tombstone(call, callback) {
      const stream = streamNameOf(call.request.getOptions()?.getStreamIdentifier())
      if (log.tombstone(stream)) callback(null, new streams.TombstoneResp())
      else callback(tombstonedError(stream))
    },
  }
  const featuresServer: IServerFeaturesServer = {
    getSupportedMethods: (_call, callback) => faults.unlessFrozen(() => callback(null, supportedMethods())),
  }
  const gossipServer: IGossipServer = {
    // Gossip comes from any node of a cluster, also where the leader is silent.
    read: (_call, callback) => callback(null, clusterLedBy(leader ?? port)),
  }

  const listen = async (): Promise<void> => {
    server = new Server({ 'grpc.max_receive_message_length': MOST_MESSAGE_BYTES })
    server.addService(streamsService.StreamsService, streamsServer)
    server.addService(featuresService.ServerFeaturesService, featuresServer)
    server.addService(gossipService.GossipService, gossipServer)
    port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`${HOST}:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound)
        else reject(error)
      })
    })
  }

  await listen()
  return {
    connectionString: `esdb://${HOST}:${port}?tls=false`,
    port,
    log,
    faults,
    calls,
    endSubscriptions(how) {
      for (const call of subscriptions) {
        if (how === 'silent') call.end()
        else call.emit('error', rpcError(status.ABORTED, 'Operation timed out: subscription dropped'))
      }
    },
    leadsTo(other) {
      leader = other
    },
    stop: () => server.forceShutdown(),
    async restart() {
      server.forceShutdown()
      log.forgetRecentIds()
      await listen()
    },
  }
}

/** The client batches its appends because of this. */
function supportedMethods(): SupportedMethods {
  const method = new features.SupportedMethod()
    .setServiceName('event_store.client.streams.Streams')
    .setMethodName('batchappend')
  return new features.SupportedMethods().setEventStoreServerVersion('23.10.0').setMethodsList([method])
}

function clusterLedBy(port: number) {
  const member = new gossip.MemberInfo()
    .setState(gossip.MemberInfo.VNodeState.LEADER)
    .setIsAlive(true)
    .setHttpEndPoint(new gossip.EndPoint().setAddress(HOST).setPort(port))
  return new gossip.ClusterInfo().setMembersList([member])
}
