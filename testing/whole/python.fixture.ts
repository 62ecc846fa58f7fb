import { spawnSync } from 'node:child_process'

/** The first Python that has these modules: the one on the path, else the system's, which holds packages of the system. */
export const pythonWith = (...modules: string[]): string | undefined =>
  ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0,
  )
