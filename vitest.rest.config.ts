import { configDefaults } from 'vitest/config'
import { NPM_TEST } from './test/guarantees.ts'
import base from './vitest.config.ts'

// `npm run test:rest`: what `npm test` leaves out of `npm run test:all`.

const { test, ...config } = base

export default { ...config, test: { ...test, exclude: [...configDefaults.exclude, ...NPM_TEST] } }
