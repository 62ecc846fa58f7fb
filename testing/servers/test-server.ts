/** A running server that a test may use. */
export interface TestServer {
  readonly url: string
  /** Ends it at once (SIGKILL), as a crash would. Refused for a server that was only borrowed. */
  kill(): Promise<void>
  /** Makes it stand still, and go on. Refused for a server that was only borrowed. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  /** Starts it again on the same port with the same data; resolves once it answers. */
  restart(): Promise<void>
  /** Ends it for good and removes its data. A borrowed server is left running. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Source of servers for a test. Looking for one is cheap and starts nothing, so that a suite can decide
 * while it is collected whether to be skipped.
 *
 * @example
 * const nats = await natsServers({ killable: true })
 * describe.skipIf(nats.missing !== undefined)(`a NATS restart${nats.missing ?? ''}`, () => {
 *   it('…', async () => { const server = await nats.start() })
 * })
 */
export interface TestServers {
  /** Why there is none, worded to follow a suite's title; undefined when `start` can be called. */
  readonly missing: string | undefined
  start(): Promise<TestServer>
}

export interface TestServersOptions {
  /** True when the test kills or restarts the server: then it is always one that the test started. */
  readonly killable: boolean
}

/** Everything needed to run one kind of server. */
export interface ServerKind {
  readonly name: string
  /** Environment variable that names a running server. */
  readonly urlVariable: string
  readonly binary: string
  arguments(options: { readonly port: number; readonly dataDirectory: string }): readonly string[]
  readonly image: string
  readonly containerCommand: readonly string[]
  readonly containerPort: number
  url(port: number): string
  /** Sent on connecting, when the server does not speak first. */
  readonly greeting: string
  /** Reply of a server that answers. */
  readonly answer: string
}
