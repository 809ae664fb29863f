import { NPM_TEST } from './test/guarantees.ts'
import base from './vitest.config.ts'

// `npm test`: the files that test/README.md names, except those that it leaves to `npm run test:all`.

const { test, ...config } = base

export default { ...config, test: { ...test, include: [...NPM_TEST] } }
