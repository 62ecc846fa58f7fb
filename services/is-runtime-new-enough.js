// Plain JavaScript, because an older Node cannot even read what it would have to refuse.

/** Exit code of `runtime_too_old` in contracts/errors.ts, which an older Node cannot read. */
const RUNTIME_TOO_OLD = 11

/**
 * Whether this Node.js runs the service; where it does not, says so and sets the exit code.
 *
 * @param {string} what needs it: `the service`
 * @param {string} command that brings the right one along: `npm start`
 */
export function isRuntimeNewEnough(what, command) {
  const [major] = process.versions.node.split('.').map(Number)
  if (major >= 24) return true
  process.stderr.write(
    `error runtime_too_old: this is Node.js ${process.versions.node}; ${what} needs 24 or newer.\n` +
      `Run it with \`${command}\`, which brings its own Node.js 24, or install Node.js 24.\n`,
  )
  process.exitCode = RUNTIME_TOO_OLD
  return false
}
