// ${generated_comment}
#pragma once
${static_dispatch_extra_headers}
