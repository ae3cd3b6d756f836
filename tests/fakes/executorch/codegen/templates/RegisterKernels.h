// ${generated_comment}
#pragma once
