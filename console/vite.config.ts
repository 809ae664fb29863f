import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// `npm run console` serves the sources with reload, beside a service at TIERWAY_URL. `npm run build` writes
// `dist/console`, which the service serves at /console (src/serve/http/console.ts).
const service = process.env.TIERWAY_URL ?? 'http://127.0.0.1:4000'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    // Inlined files would be `data:` addresses, which the policy of the page refuses for anything but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // What is in the files, and under which licences.
    license: { fileName: 'licenses.md' },
    chunkSizeWarningLimit: 600,
  },
  server: {
    proxy: {
      '/graphql': { target: service, ws: true },
      '/platform': service,
      '/openapi.json': service,
      '/schemas': service,
      '/schema.graphql': service,
    },
  },
})
