export { createOwnerServer } from './operator.ts'
export { type Component, type Readiness, readinessOf } from './readiness.ts'
export { createServer, type ServerOptions } from './server.ts'
