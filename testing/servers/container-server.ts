import { freePort, waitUntilAnswering } from './server-port.ts'
import type { ServerKind, TestServer } from './test-server.ts'

/** Whether containers can be run here: the command alone is no evidence, the engine has to answer. */
export async function hasContainerEngine(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import('testcontainers')
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

/** Starts a server image on a fixed loopback port, so that a restart comes back at the same address. */
export async function startContainerServer(kind: ServerKind): Promise<TestServer> {
  const { GenericContainer, getContainerRuntimeClient } = await import('testcontainers')
  const port = await freePort()
  const started = await new GenericContainer(kind.image)
    .withExposedPorts({ container: kind.containerPort, host: port })
    .withCommand([...kind.containerCommand])
    .start()
  const runtime = await getContainerRuntimeClient()
  const container = runtime.container.getById(started.getId())
  const isRunning = async (): Promise<boolean> => (await runtime.container.inspect(container)).State.Running
  const kill = async (): Promise<void> => {
    if (await isRunning()) await container.kill({ signal: 'SIGKILL' })
  }

  await waitUntilAnswering(kind, port)
  let stopped = false
  return {
    url: kind.url(port),
    kill,
    freeze: async () => void (await container.kill({ signal: 'SIGSTOP' })),
    thaw: async () => void (await container.kill({ signal: 'SIGCONT' })),
    async restart() {
      await kill()
      await runtime.container.start(container)
      await waitUntilAnswering(kind, port)
    },
    async stop() {
      if (stopped) return
      stopped = true
      await started.stop()
    },
  }
}
