import { serve } from './app/serve.ts'

await serve(process.env)
